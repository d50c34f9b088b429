// Modules in a text that holds several, or something else as well: XLA's tests (`// -----` between
// them), PyTorch/XLA's XLA_SAVE_TENSORS_FILE, logs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/file.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/dump/listing/sniff.h"

namespace hloscope::dump {

struct ModulePart {
  size_t begin = 0, end = 0;  // of its text
  size_t lines_before = 0;    // in the whole text
  FileKind kind = FileKind::kHloText;
  std::string name;      // of the module; empty: it has none
  std::string selector;  // what names it behind the path: its name, or its number from 1
  // What stands before every line of it: that of a log has its own place (`file.cc:12] `) or text.
  std::string line_prefix;
  std::string hash, place;  // of PyTorch/XLA: of the graph, and the user's line
};

struct ModuleParts {
  std::vector<ModulePart> parts;
  size_t graphs_of_ir = 0;  // graphs of PyTorch/XLA that were saved as its own IR
  int64_t left_out = 0;     // more than the limit archive-members
};

// Those of a text that is `kind` by its beginning. Of HLO and StableHLO by itself: none where there
// is only one.
ModuleParts FindModuleParts(std::string_view text, FileKind kind, const Limits& limits);

// The selector of each: the name where it is the only one of its kind, else the number.
void SetSelectors(std::span<ModulePart> parts);

// The module by itself, with line ends before it so that its lines keep their numbers.
FileView PartView(const FileView& file, const ModulePart& part);

// The part that `selector` names.
const ModulePart* FindPart(std::span<const ModulePart> parts, std::string_view selector);

// "holds 3 modules", with the way to name one.
Error SeveralModules(const std::string& path, std::span<const ModulePart> parts);

}  // namespace hloscope::dump
