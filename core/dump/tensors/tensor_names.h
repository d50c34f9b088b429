// Names that number arrays: in0, input_0@2 or arr_0 of inputs, out0, output_0 or arr_0 of results.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hloscope::dump {

enum class TensorNames : uint8_t { kInputs, kOutputs };

/// What a name says of an array.
struct TensorNumber {
  int64_t number = 0;
  int64_t device = -1;  // in0@2; -1: of all
  int rank = 0;         // of the prefix: where two names give one number, the lower is taken

  bool operator==(const TensorNumber&) const = default;
};

/// nullopt: the name numbers no array of that side.
std::optional<TensorNumber> TensorNumberOf(std::string_view name, TensorNames side);

/// Whether both names mean the same array of a set: they are equal, or number the same one as both
/// inputs or both results; "value[2]", the leaf of a literal, numbers arrays as well.
bool NameSameTensor(std::string_view a, std::string_view b);

/// The names of result number `leaf`, which is the array number `array` of the results: numpy
/// writes no tokens, so that arr_N counts arrays. Of inputs both are the same.
std::vector<std::string> NamesOfTensor(TensorNames side, int64_t leaf, int64_t array);

}  // namespace hloscope::dump
