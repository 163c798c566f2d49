"""Rules that compile and check Core ML models with zinc."""

def _flags(ctx):
    return ["--no-cache", "--target=" + ctx.attr.target] + ctx.attr.flags

def _root(ctx):
    """Returns the path of the model: the file of srcs that is named, or the folder up to its ending."""
    path = ctx.files.srcs[0].path
    for ending in (".mlpackage", ".mlmodelc"):
        at = path.find(ending + "/")
        if at >= 0:
            return path[:at + len(ending)]
    return path

def _zinc_pair_impl(ctx):
    container = ctx.actions.declare_file(ctx.label.name + ".hwx")
    descriptor = ctx.actions.declare_file(ctx.label.name + ".e5")
    ctx.actions.run(
        executable = ctx.executable.zinc,
        arguments = [_root(ctx), "-q", "-o", container.path] + _flags(ctx),
        inputs = ctx.files.srcs,
        outputs = [container, descriptor],
        mnemonic = "ZincCompile",
        progress_message = "Compiling %{label} for the Neural Engine",
    )
    return [DefaultInfo(files = depset([container, descriptor]))]

def _zinc_check_test_impl(ctx):
    script = ctx.actions.declare_file(ctx.label.name + ".sh")
    root = _root(ctx)
    short = root[len(ctx.files.srcs[0].root.path):].lstrip("/")
    words = [ctx.executable.zinc.short_path, "check", short] + _flags(ctx)
    quoted = ["'" + w.replace("'", "'\\''") + "'" for w in words]
    ctx.actions.write(script, "#!/bin/sh\nexec " + " ".join(quoted) + "\n", is_executable = True)
    return [DefaultInfo(
        executable = script,
        runfiles = ctx.runfiles(files = ctx.files.srcs + [ctx.executable.zinc]),
    )]

_ATTRS = {
    "srcs": attr.label_list(allow_files = True, mandatory = True, doc = "The files of the model."),
    "target": attr.string(default = "h13", doc = "The hardware target."),
    "flags": attr.string_list(doc = "Further flags of zinc."),
    "zinc": attr.label(
        default = "@zinc//cmd/zinc",
        executable = True,
        cfg = "exec",
        allow_files = True,
        doc = "The zinc executable.",
    ),
}

zinc_pair = rule(
    implementation = _zinc_pair_impl,
    attrs = _ATTRS,
    doc = "Compiles a model to a container and a descriptor.",
)

zinc_check_test = rule(
    implementation = _zinc_check_test_impl,
    attrs = _ATTRS,
    test = True,
    doc = "Fails when the model exceeds the budgets in flags.",
)
