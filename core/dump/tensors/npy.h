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
#include "core/hlo/element_type.h"

namespace hloscope::dump {

// The element type of a .npy file: numpy's kind letter (b, i, u, f, c, or V for raw bytes), bytes
// per element, and for the types of ml_dtypes.def, which are raw bytes to numpy, which one.
struct NpyType {
  char kind = 'f';
  int bytes = 4;
  hlo::ElementType extended = hlo::ElementType::kInvalid;
  bool operator==(const NpyType&) const = default;
};

struct NpyArray {
  NpyType type;
  bool big_endian = false;
  bool fortran_order = false;  // the first dimension varies fastest
  std::vector<int64_t> dimensions;
  size_t data_at = 0;     // where the data begin in the file
  std::string_view data;  // a window into the bytes given to ReadNpy
};

// Reads versions 1 to 3. Input errors: not a .npy file, a header beyond 64 KiB, a type that is no
// number, sizes that do not fit the data. `name` is for messages.
Result<NpyArray> ReadNpy(std::string_view bytes, std::string_view name, const Limits& limits = {});

// The same of the first bytes of a file of `size`, which need not have the data: `data` is empty.
constexpr size_t kMaxNpyHeaderBytes = (64 << 10) + 12;  // with all in front of the data
Result<NpyArray> ReadNpyHeader(std::string_view head, uint64_t size, std::string_view name,
                               const Limits& limits = {});

// A whole .npy file (version 1, C order, little endian) of row-major `data`.
std::string WriteNpy(NpyType type, std::span<const int64_t> dimensions, std::string_view data);

// What ml_dtypes.def calls a type; empty if it is not there.
std::string_view MlDtypeName(hlo::ElementType type);

// "<f4", as numpy writes it, or "bfloat16".
std::string ToString(NpyType type, bool big_endian = false);

}  // namespace hloscope::dump
