#!/bin/sh
# Puts headers, libraries and the file for pkg-config into a folder: install.sh STATIC_LIBRARY FOLDER PREFIX. PREFIX is
# where that folder will be.
set -eu

static=$1
folder=$2
prefix=$3
here=$(cd "$(dirname "$0")" && pwd)
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$here/../../Cargo.toml" | head -n 1)

mkdir -p "$folder/include" "$folder/lib/pkgconfig"
cp "$here/include/oarlock.h" "$here/include/oarlock.hpp" "$here/../oarlock/include/oarlock_device.h" "$folder/include/"
cp "$static" "$folder/lib/liboarlock.a"
sh "$here/link.sh" "$static" "$folder/lib"
# In the replacement of sed these three mean something.
escaped=$(printf '%s' "$prefix" | sed 's/[\\&|]/\\&/g')
sed "s|@PREFIX@|$escaped|; s|@VERSION@|$version|" "$here/oarlock.pc.in" >"$folder/lib/pkgconfig/oarlock.pc"
