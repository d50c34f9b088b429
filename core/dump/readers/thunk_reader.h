// Reading thunk_sequence.txt and thunk_metadata of XLA:GPU, every generation.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/limits.h"
#include "core/dump/readers/thunks.h"

namespace hloscope::dump {

enum class ThunkRole : uint8_t { kUnknown, kKernel, kLibrary, kBody };
struct ThunkKindRow {
  std::string_view kind;
  ThunkRole role = ThunkRole::kUnknown;
  std::string_view library, instructions;
};
// The row of a kind (thunk_kinds.def); one with role kUnknown for kinds nobody knows. NCCL kinds of
// old generations (kNcclAllReduceStart) are found as those of today.
ThunkKindRow ThunkKindOf(std::string_view kind);

// The thunks of the text, in order, with kernel, library and launch dimensions as far as it says;
// lines that are no thunk are named in `warnings`.
std::vector<Thunk> ReadThunkSequence(std::string_view text, const Limits& limits,
                                     std::vector<std::string>& warnings);

// One entry of ThunkMetadataListProto.
struct ThunkMetadata {
  int64_t id = 0;
  std::string kind, instruction;
};
// Text or binary; what cannot be read is left out and named in `warnings`.
std::vector<ThunkMetadata> ReadThunkMetadata(std::string_view bytes, bool is_text,
                                             std::vector<std::string>& warnings);

}  // namespace hloscope::dump
