"""Prints what Core ML decides about a model, as JSON: python plan.py MODEL [all|cpu-ane|cpu-gpu|cpu] >plan.json

MODEL is a .mlmodelc, .mlpackage or .mlmodel. It needs coremltools 8 or later, and macOS 14.4 or later. Then:
zinc check MODEL --compare-plan plan.json
"""
import json
import platform
import sys

UNITS = {"all": "ALL", "cpu-ane": "CPU_AND_NE", "cpu-gpu": "CPU_AND_GPU", "cpu": "CPU_ONLY"}


def rows(plan, function, block):
    """Yields a dictionary for each operation of a block and of the blocks in it."""
    for operation in block.operations:
        row = {"function": function, "operator": operation.operator_name}
        row["outputs"] = [output.name for output in operation.outputs]
        usage = plan.get_compute_device_usage_for_mlprogram_operation(operation)
        if usage is not None:
            row["preferred_device"] = type(usage.preferred_compute_device).__name__
            row["supported_devices"] = [type(device).__name__ for device in usage.supported_compute_devices]
        cost = plan.get_estimated_cost_for_mlprogram_operation(operation)
        if cost is not None:
            row["weight"] = cost.weight
        yield row
        for nested in operation.blocks:
            yield from rows(plan, function, nested)


def main():
    import coremltools as ct
    from coremltools.models.compute_plan import MLComputePlan

    chosen = sys.argv[2] if len(sys.argv) > 2 else "cpu-ane"
    if len(sys.argv) < 2 or chosen not in UNITS:
        sys.exit("usage: python plan.py MODEL [all|cpu-ane|cpu-gpu|cpu]")
    path = sys.argv[1]
    if not path.rstrip("/").endswith(".mlmodelc"):
        path = ct.models.utils.compile_model(path)
    plan = MLComputePlan.load_from_path(path, compute_units=getattr(ct.ComputeUnit, UNITS[chosen]))
    program = plan.model_structure.program
    if program is None:
        sys.exit("the model is not an ML program")
    operations = [row for name, f in sorted(program.functions.items()) for row in rows(plan, name, f.block)]
    system = "macOS " + platform.mac_ver()[0]
    json.dump({"compute_units": chosen, "system": system, "operations": operations}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
