// Frames as Base.show_backtrace of Julia and Exception.format_stacktrace of Elixir write them: the
// innermost call comes first.
#include "core/dump/errors/other_frames.h"

#include <algorithm>

#include "core/dump/readers/line_reader.h"

namespace hloscope::dump {
namespace {

constexpr size_t kMaxTrace = 400;

// "run.jl:58" and "REPL[3]:2"; without a file where no number follows.
SourceLine PlaceOf(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == text.npos || colon == 0) return {};
  std::string_view digits = text.substr(colon + 1);
  const auto number = TakeNumber(digits);
  if (!number || *number < 0 || *number > INT32_MAX || !digits.empty()) return {};
  return {std::string(text.substr(0, colon)), static_cast<int32_t>(*number), false};
}

// Julia's own files are "./error.jl"; those of packages lie in ~/.julia.
bool IsOfJulia(std::string_view file) {
  const bool is_base = file.starts_with("./") && file.find('/', 2) == file.npos &&
                       !file.starts_with("./REPL[") && !file.starts_with("./In[");
  for (std::string_view part : {"/.julia/packages/", "/.julia/dev/Reactant", "/Reactant.jl/",
                                "/Reactant/src/", "/share/julia/", "/julia/stdlib/", "<missing>"})
    if (file.contains(part)) return true;
  return is_base;
}

// "@ Main ~/fit/check.jl:12", "@ ./error.jl:35 [inlined]", "@ REPL[3]:2"; before Julia 1.6 "[1]
// f(::Int64) at ./check.jl:12".
SourceLine JuliaFrame(std::string_view line) {
  line = Trim(line);
  std::string_view place;
  if (TakeWord(line, "@ ")) {
    place = line;
  } else if (line.starts_with('[') && line.contains(" at ")) {
    place = line.substr(line.rfind(" at ") + 4);
  }
  if (place.ends_with(" [inlined]")) place = Trim(place.substr(0, place.rfind(" [inlined]")));
  if (!place.contains(".jl:") && !place.contains("REPL[") && !place.contains("In[")) return {};
  // Before the file stands the module, a word; folders may have blanks in their names.
  if (const size_t blank = place.find(' ');
      blank != place.npos && place.substr(0, blank).find_first_of("/~[") == place.npos)
    place = Trim(place.substr(blank));
  return PlaceOf(place);
}

constexpr std::string_view kElixirLibraries[] = {
    "axon", "bumblebee", "compiler", "elixir", "erts",    "ex_unit", "exla",   "iex", "kernel",
    "kino", "livebook",  "mix",      "nx",     "polaris", "scholar", "stdlib", "xla"};

// "(shop 0.1.0) lib/shop/model.ex:77: Shop.Model.step/2", "test/fit_test.exs:41: (test)",
// "fit.livemd#cell:k3x:7: (file)".
SourceLine ElixirFrame(std::string_view line) {
  line = Trim(line);
  if (TakeWord(line, "(")) {
    const size_t end = line.find(") ");
    const std::string_view library = line.substr(0, line.find(' '));
    if (end == line.npos ||
        std::ranges::find(kElixirLibraries, library) != std::end(kElixirLibraries))
      return {};
    line.remove_prefix(end + 2);
  }
  std::string_view place = line.substr(0, line.find(": "));
  const bool is_file =
      place.contains(".ex:") || place.contains(".exs:") || place.contains("#cell:");
  if (!is_file || place.contains(' ') || place.contains('(')) return {};
  return PlaceOf(place);
}

}  // namespace

SourceLine FindOtherSourceLine(const std::vector<std::string_view>& lines, size_t error) {
  SourceLine begun;
  for (size_t k = error + 1; k < std::min(lines.size(), error + kMaxTrace); ++k) {
    std::string_view line = Trim(lines[k]);
    if (line.starts_with("caused by:") || line.contains("Traceback (most recent call last)")) break;
    if (SourceLine frame = JuliaFrame(line); !frame.file.empty() && !IsOfJulia(frame.file))
      return frame;
    if (SourceLine frame = ElixirFrame(line); !frame.file.empty()) return frame;
    // Of a program that is not in a function no frame but this is the program's own.
    if (begun.file.empty() && TakeWord(line, "in expression starting at ")) begun = PlaceOf(line);
  }
  return begun;
}

}  // namespace hloscope::dump
