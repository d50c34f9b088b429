// NumPy's .npy arrays: header and data, read within bounds and written. Numbers only: object arrays
// hold Python programs and are never read.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"

namespace hloscope::dump {

// The element type of a .npy file: numpy's kind letter (b, i, u, f, c, or V for raw bytes) and
// bytes per element.
struct NpyType {
  char kind = 'f';
  int bytes = 4;
  bool operator==(const NpyType&) const = default;
};

struct NpyArray {
  NpyType type;
  bool big_endian = false;
  bool fortran_order = false;  // the first dimension varies fastest
  std::vector<int64_t> dimensions;
  std::string_view data;  // a window into the bytes given to ReadNpy
};

// Reads versions 1 to 3. Input errors: not a .npy file, a header beyond 64 KiB, a type that is no
// number, sizes that do not fit the data. `name` is for messages.
Result<NpyArray> ReadNpy(std::string_view bytes, std::string_view name, const Limits& limits = {});

// A whole .npy file (version 1, C order, little endian) of row-major `data`.
std::string WriteNpy(NpyType type, std::span<const int64_t> dimensions, std::string_view data);

// "<f4", as numpy writes it.
std::string ToString(NpyType type, bool big_endian = false);

}  // namespace hloscope::dump
