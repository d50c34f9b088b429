// Lines of a text that holds modules: how a module begins, and what stands before its lines.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "core/dump/module_parts.h"

namespace hloscope::dump {

struct TextLine {
  std::string_view text;  // without its end
  size_t begin = 0, number = 0;
};

class TextLines {
 public:
  explicit TextLines(std::string_view text);
  bool Next(TextLine& line);

 private:
  std::string_view text_;
  size_t at_, number_ = 0;
};

// "jit_f" of `HloModule jit_f, is_scheduled=true`, "jit_f" of `module @jit_f attributes {`.
std::string NameIn(std::string_view line);
bool OpensHlo(std::string_view line);
bool OpensMlir(std::string_view line);

// The head of a computation: `ENTRY %main (a: f32[]) -> f32[] {`, `%add (…) -> f32[] {`, `add {`.
bool OpensComputation(std::string_view line);

// Between the header and the first computation: the tables of stack frames.
bool IsOfFrameTable(std::string_view line);

// HLO as text proto: `hlo_module {` of a HloProto, `name: "m"` and `entry_computation_name: "e"`
// of a HloModuleProto by itself.
inline constexpr std::string_view kModuleField = "hlo_module", kNameField = "name",
                                  kEntryField = "entry_computation_name";
bool OpensModuleField(std::string_view line);
bool OpensNameField(std::string_view line);
bool OpensEntryField(std::string_view line);
// Whether a line at the depth of a HloModuleProto is a field of it.
bool IsModuleField(std::string_view line);
// m of `name: "m"` on the line; empty: it is something else.
std::string ValueOfName(std::string_view line);

// How deep in braces the end of a text proto's line is; those in strings do not count.
class TextProtoDepth {
 public:
  void Take(std::string_view line);
  int value() const { return depth_; }

 private:
  int depth_ = 0;
};

// What stands before the text in the lines of one log.
class LinePrefix {
 public:
  // Of the line in which a module begins at `at`.
  LinePrefix(std::string_view line, size_t at);
  static LinePrefix Of(const ModulePart& part) {
    return {part.line_prefix, part.line_prefix.size()};
  }

  // How much of the line is not of the module; nullopt: nothing of it is.
  std::optional<size_t> LengthIn(std::string_view line) const;

 private:
  std::string given_, place_;
  bool is_log_ = false;
};

}  // namespace hloscope::dump
