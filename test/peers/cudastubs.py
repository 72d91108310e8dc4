"""Make the x86-64 torch wheel importable without the CUDA libraries it is linked with.

The wheel on PyPI needs a dozen CUDA libraries (2 GB and more) merely to be loaded. The tests train on the CPU, so
each of these libraries is replaced by a small one of the same name, with the symbols and symbol versions the wheel
asks for. Every function answers 100 (cudaErrorNoDevice), or a text where the real one returns a text; torch then
sees a machine without GPUs. Only binutils is needed.

Usage: cudastubs.py TORCH_LIB_DIR
"""

import pathlib
import re
import subprocess
import sys
import tempfile

# Found on every Linux machine, or (libcuda) looked for by torch to learn whether there is a driver.
NOT_OURS = re.compile(r"(ld-linux|lib(c|cuda|dl|gcc_s|gfortran|gomp|m|pthread|quadmath|rt|stdc\+\+|z))[-.]")
CUDA_NAME = re.compile(r"(cu|nccl|nv)")
RETURNS_TEXT = re.compile(r"(String|ErrorName|ncclGetLastError)$")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def needs(libraries):
    """Sonames needed from outside, each with {version: symbols}; symbols without a version are under None."""
    wanted, file_of, undefined, defined = set(), {}, set(), set()
    for library in libraries:
        wanted |= set(re.findall(r"\(NEEDED\).*\[(.+)\]", output("readelf", "--dynamic", "--wide", library)))
        file = None
        for line in output("readelf", "--version-info", "--wide", library).splitlines():
            if match := re.search(r"Version: \d+\s+File: (\S+)", line):
                file = match[1]
            elif match := re.search(r"Name: (\S+)\s+Flags: \S+\s+Version: \d+", line):
                file_of[match[1]] = file
        for line in output("nm", "--dynamic", "--format=posix", library).splitlines():
            name, kind = line.split()[:2]
            if kind == "U":
                undefined.add(name)
            else:
                defined.add(name.partition("@")[0])

    present = {library.name for library in libraries}
    result = {soname: {} for soname in sorted(wanted - present) if not NOT_OURS.match(soname)}
    if not result:
        return result
    catch_all = result.get("libnccl.so.2", next(iter(result.values())))
    for symbol in sorted(undefined):
        name, _, version = symbol.partition("@")
        version = version.lstrip("@")
        if name in defined:
            continue
        if version and file_of.get(version) in result:
            result[file_of[version]].setdefault(version, []).append(name)
        elif not version and CUDA_NAME.match(name):
            catch_all.setdefault(None, []).append(name)
    return result


def assembly(symbols):
    number = [name for name in symbols if not RETURNS_TEXT.search(name)]
    text = [name for name in symbols if RETURNS_TEXT.search(name)]
    lines = [".text"]
    for names, answer in ((number, "mov $100, %eax"), (text, "lea message(%rip), %rax")):
        for name in names:
            lines += [f".globl {name}", f".type {name}, @function", f"{name}:"]
        lines += [answer, "ret"]
    lines += [".section .rodata", 'message: .asciz "no CUDA here"', '.section .note.GNU-stack, "", @progbits']
    return "\n".join(lines) + "\n"


def build(target, versions):
    with tempfile.TemporaryDirectory() as scratch:
        source, script, object_file = (pathlib.Path(scratch, name) for name in ("stub.s", "stub.map", "stub.o"))
        source.write_text(assembly([name for names in versions.values() for name in names]))
        script.write_text("".join(
            f"{version} {{ global: {' '.join(name + ';' for name in names)} }};\n"
            for version, names in versions.items() if version))
        subprocess.run(["as", "-o", object_file, source], check=True)
        subprocess.run(["ld", "-shared", "-soname", target.name, "-o", target, object_file,
                        *(["--version-script", script] if script.read_text() else [])], check=True)


def main():
    folder = pathlib.Path(sys.argv[1])
    libraries = sorted(folder.glob("*.so*")) + sorted(folder.parent.glob("_C*.so"))
    for soname, versions in needs(libraries).items():
        build(folder / soname, versions)


if __name__ == "__main__":
    main()
