// Arguments of a kernel that runs alone, read from what the command line says of each.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/hlo/literal.h"
#include "core/ptx/ptx.h"

namespace hloscope::debug {

struct PtxArgument {
  enum class Kind : uint8_t { kIn, kOut, kInOut, kNumber } kind = Kind::kIn;
  hlo::Shape shape;               // of an array
  std::vector<std::byte> memory;  // of an array: its elements; of a number its bytes
  std::string file;               // that the result goes to
  std::string text;               // as given

  bool is_result() const { return kind == Kind::kOut || kind == Kind::kInOut; }
};

// Input error: it is none of the forms, or its file is no array.
Result<PtxArgument> ReadPtxArgument(const std::string& text, const Limits& limits);
// Input error: the entry has other parameters, with all of them.
Status CheckPtxArguments(const ptx::EntryInfo& entry, const std::vector<PtxArgument>& arguments);

}  // namespace hloscope::debug
