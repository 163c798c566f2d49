// Prints what Core ML decides about a model, as JSON:  swift plan.swift MODEL [all|cpu-ane|cpu-gpu|cpu] >plan.json
// MODEL is a .mlmodelc, .mlpackage or .mlmodel; macOS 14.4 or later. Then:  zinc check MODEL --compare-plan plan.json
import CoreML
import Foundation

func name(_ device: MLComputeDevice) -> String {
    switch device {
    case .cpu: return "cpu"
    case .gpu: return "gpu"
    case .neuralEngine: return "neuralEngine"
    @unknown default: return "unknown"
    }
}

let units: [String: MLComputeUnits] = ["all": .all, "cpu-ane": .cpuAndNeuralEngine, "cpu-gpu": .cpuAndGPU, "cpu": .cpuOnly]
let chosen = CommandLine.arguments.count > 2 ? CommandLine.arguments[2] : "cpu-ane"
guard CommandLine.arguments.count > 1, let unit = units[chosen] else {
    fatalError("usage: swift plan.swift MODEL [all|cpu-ane|cpu-gpu|cpu]")
}
let configuration = MLModelConfiguration()
configuration.computeUnits = unit
var url = URL(fileURLWithPath: CommandLine.arguments[1])
if url.pathExtension != "mlmodelc" { url = try await MLModel.compileModel(at: url) }
let plan = try await MLComputePlan.load(contentsOf: url, configuration: configuration)
guard case .program(let program) = plan.modelStructure else { fatalError("the model is not an ML program") }

func rows(_ function: String, _ block: MLModelStructure.Program.Block) -> [[String: Any]] {
    block.operations.flatMap { operation -> [[String: Any]] in
        var row: [String: Any] = ["function": function, "operator": operation.operatorName]
        row["outputs"] = operation.outputs.map { $0.name }
        if let usage = plan.deviceUsage(for: operation) {
            row["preferred_device"] = name(usage.preferred)
            row["supported_devices"] = usage.supported.map(name)
        }
        if let cost = plan.estimatedCost(of: operation) { row["weight"] = cost.weight }
        return [row] + operation.blocks.flatMap { rows(function, $0) }
    }
}

let operations = program.functions.sorted { $0.key < $1.key }.flatMap { rows($0.key, $0.value.block) }
let system = ProcessInfo.processInfo.operatingSystemVersionString
let document: [String: Any] = ["compute_units": chosen, "system": system, "operations": operations]
print(String(decoding: try JSONSerialization.data(withJSONObject: document, options: .prettyPrinted), as: UTF8.self))
