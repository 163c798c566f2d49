#!/usr/bin/env python3
"""Runs a program of zinc on the Apple Neural Engine of an M1 under Linux and records what it did.

    measure.py digits.anec -o record [--calls 100] [--seed 1] [--input FILE.npy ...]

It needs numpy and the Python binding of the driver (https://github.com/eiln/ane). The folder that it writes has the
inputs and the outputs as fp16 arrays and record.json, which "zinc verify MODEL --measured record/record.json" reads.
"""
import argparse
import hashlib
import json
import os
import platform
import time

import numpy as np


def device():
    """The machine, as its device tree names it, and the kernel."""
    try:
        with open("/proc/device-tree/compatible", "rb") as f:
            name = f.read().split(b"\0")[0].decode()
    except OSError:
        name = platform.machine()
    return f"{name}, {platform.system()} {platform.release()}"


def main():
    parser = argparse.ArgumentParser(description="run a .anec program on the engine and record it")
    parser.add_argument("program")
    parser.add_argument("-o", "--output", default="record", help="folder to write (default record)")
    parser.add_argument("--calls", type=int, default=100, help="timed calls (default 100)")
    parser.add_argument("--seed", type=int, default=1, help="seed of inputs without --input")
    parser.add_argument("--input", action="append", default=[], help="an fp16 array, in the order of zinc dump")
    parser.add_argument("--driver", default="eiln/ane", help="name and version of the driver, for the record")
    args = parser.parse_args()

    import ane
    model = ane.model(args.program)
    random = np.random.default_rng(args.seed)
    inputs = []
    for i, shape in enumerate(model.src_nchw):
        shape = tuple(int(n) for n in shape[:4])
        if i < len(args.input):
            x = np.load(args.input[i]).astype(np.float16).reshape(shape)
        else:
            x = random.standard_normal(shape).astype(np.float16)
        inputs.append(x)

    outputs = [np.array(y) for y in model.predict(inputs)]
    seconds = []
    for _ in range(args.calls):
        start = time.perf_counter()
        again = model.predict(inputs)
        seconds.append(time.perf_counter() - start)
    for first, last in zip(outputs, again if args.calls else []):
        if first.tobytes() != np.array(last).tobytes():
            print("the outputs of the last call differ from the first call's; the record has the first")

    os.makedirs(args.output, exist_ok=True)
    record = {"zinc_run_record": 1, "device": device(), "driver": args.driver, "seconds": seconds}
    with open(args.program, "rb") as f:
        record["program_sha256"] = hashlib.sha256(f.read()).hexdigest()
    for what, arrays in ("input", inputs), ("output", outputs):
        record[what + "s"] = [f"{what}{i}.npy" for i in range(len(arrays))]
        for name, x in zip(record[what + "s"], arrays):
            np.save(os.path.join(args.output, name), x.astype(np.float16))
    path = os.path.join(args.output, "record.json")
    with open(path, "w") as f:
        json.dump(record, f, indent=1)
    print(f"wrote {path}: {len(outputs)} outputs, {len(seconds)} calls")


if __name__ == "__main__":
    main()
