#!/bin/sh
# Installs the executable of a release of zinc, and checks its sum:
#
#	curl -fsSL https://raw.githubusercontent.com/zinc-compiler/zinc/main/install.sh | sh
#
# ZINC_VERSION is the version, as 0.1.0, by default the latest; ZINC_BIN the folder to install to, by default
# ~/.local/bin; ZINC_RELEASES another address of the releases.
set -eu
releases=${ZINC_RELEASES:-https://github.com/zinc-compiler/zinc/releases}
bin=${ZINC_BIN:-${HOME:?}/.local/bin}

fail() {
	echo "install.sh: $1" >&2
	exit 1
}

system=$(uname -s)
machine=$(uname -m)
ending=tar.gz exe=zinc
case $system in
Linux) os=linux ;;
Darwin) os=darwin ;;
MINGW* | MSYS* | CYGWIN*) os=windows ending=zip exe=zinc.exe ;;
*) fail "no release for $system; with Go: go install github.com/zinc-compiler/zinc/cmd/zinc@latest" ;;
esac
case $machine in
x86_64 | amd64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
i?86) arch=386 ;;
armv7* | armv8l) arch=armv7 ;;
*) fail "no release for $machine; with Go: go install github.com/zinc-compiler/zinc/cmd/zinc@latest" ;;
esac
case ${ZINC_VERSION:-latest} in
latest) from=$releases/latest/download ;;
*) from=$releases/download/v${ZINC_VERSION#v} ;;
esac

fetch() { curl -fsSL --retry 3 -o "$2" "$1" || fail "cannot fetch $1"; }

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fetch "$from/checksums.txt" "$folder/checksums.txt"
line=$(grep -E " zinc_[^ _]+_${os}_${arch}\.${ending}\$" "$folder/checksums.txt") ||
	fail "the release at $from has no archive for $os/$arch"
archive=${line##* }
fetch "$from/$archive" "$folder/$archive"
if command -v sha256sum >/dev/null 2>&1; then
	sum=$(sha256sum "$folder/$archive")
else
	sum=$(shasum -a 256 "$folder/$archive")
fi
[ "${sum%% *}" = "${line%% *}" ] || fail "$archive has the SHA-256 ${sum%% *}, want ${line%% *}"
if [ "$ending" = zip ]; then
	unzip -q "$folder/$archive" "$exe" -d "$folder"
else
	tar -xzf "$folder/$archive" -C "$folder" "$exe"
fi
mkdir -p "$bin"
mv "$folder/$exe" "$bin/.$exe.new"
mv "$bin/.$exe.new" "$bin/$exe"
echo "installed $bin/$exe, $("$bin/$exe" version | head -n 1)"
