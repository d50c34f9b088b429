// Lines of thunk sequences: "  003: kKernel [prev=002 (1) | sink] name grid: …" of today and
// "kKernel\t, kernel = name, launch dimensions = …" of earlier generations.
#include "core/dump/readers/thunk_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/dump/readers/line_reader.h"
#include "core/hlo/proto/wire_reader.h"

namespace hloscope::dump {
namespace {

constexpr ThunkKindRow kRows[] = {
#define THUNK_KIND(kind, what, library, instructions) \
  {kind, ThunkRole::what, library, instructions},
#include "core/dump/readers/thunk_kinds.def"
#undef THUNK_KIND
};

const ThunkKindRow* FindKind(std::string_view kind) {
  auto row = std::ranges::find(kRows, kind, &ThunkKindRow::kind);
  return row == std::end(kRows) ? nullptr : &*row;
}

// "[800, 1, 1]" or "{800, 1, 1}" after `label`.
std::optional<Extent3> ExtentsAfter(std::string_view text, std::string_view label) {
  size_t at = text.find(label);
  if (at == std::string_view::npos) return std::nullopt;
  text = TrimStart(text.substr(at + label.size()));
  if (!TakeWord(text, "[") && !TakeWord(text, "{")) return std::nullopt;
  Extent3 extents = {1, 1, 1};
  for (size_t k = 0; k < extents.size(); ++k) {
    text = TrimStart(text);
    auto number = TakeNumber(text);
    if (!number || *number < 0) return std::nullopt;
    extents[k] = *number;
    text = TrimStart(text);
    if (!TakeWord(text, ",")) break;
  }
  return extents;
}

void ReadLaunch(std::string_view text, Thunk& thunk) {
  if (size_t at = text.find("kernel = "); at != std::string_view::npos) {
    std::string_view name = text.substr(at + 9);
    thunk.kernel = name.substr(0, name.find_first_of(", "));
    thunk.launch.blocks = ExtentsAfter(text, "blocks:");
    thunk.launch.threads = ExtentsAfter(text, "threads/block:");
    thunk.launch.cluster = ExtentsAfter(text, "cluster_dim =");
    return;
  }
  size_t grid = text.find(" grid: ");
  if (grid == std::string_view::npos) return;
  std::string_view name = Trim(text.substr(0, grid));
  thunk.kernel = name.substr(name.rfind(' ') + 1);
  thunk.launch.blocks = ExtentsAfter(text, " grid:");
  thunk.launch.threads = ExtentsAfter(text, " threads:");
  thunk.launch.cluster = ExtentsAfter(text, " cluster:");
  if (size_t at = text.find("shared_memory:"); at != std::string_view::npos) {
    std::string_view bytes = TrimStart(text.substr(at + 14));
    thunk.shared_bytes = TakeNumber(bytes);
  }
}

// "[prev=002 (1) | sink ]"
void ReadConflicts(std::string_view text, Thunk& thunk) {
  auto id_after = [&](std::string_view label) -> int64_t {
    size_t at = text.find(label);
    if (at == std::string_view::npos) return -1;
    std::string_view number = text.substr(at + label.size());
    return TakeNumber(number).value_or(-1);
  };
  thunk.previous = id_after("prev=");
  thunk.next = id_after("next=");
}

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// "003: kCopy  [": what each thunk of today begins with.
bool BeginsThunk(std::string_view text) {
  text = TrimStart(text);
  return TakeNumber(text) && TakeWord(text, ": k");
}

// False if the line is no thunk. `inside`: the rest of the line where that is the first thunk of a
// sequence within this one, as kSequential prints it; else empty.
bool ReadThunk(std::string_view line, Thunk& thunk, std::string_view& inside) {
  inside = {};
  line = TrimStart(line);
  if (std::string_view numbered = line; auto id = TakeNumber(numbered)) {
    if (!TakeWord(numbered, ":")) return false;
    thunk.id = *id;
    line = TrimStart(numbered);
  }
  size_t end = static_cast<size_t>(std::ranges::find_if_not(line, IsNameCharacter) - line.begin());
  if (end < 2 || line[0] != 'k' || line[1] < 'A' || line[1] > 'Z') return false;
  thunk.kind = line.substr(0, end);
  std::string_view rest = TrimStart(line.substr(end));
  if (rest.starts_with("[source") || rest.starts_with("[prev=")) {
    size_t close = std::min(rest.find(']'), rest.size());
    ReadConflicts(rest.substr(0, close), thunk);
    rest.remove_prefix(std::min(close + 1, rest.size()));
  }
  if (HoldsThunks(thunk.kind) && BeginsThunk(rest)) std::swap(inside, rest);
  rest = Trim(rest);
  if (rest.starts_with(", ")) rest.remove_prefix(2);
  thunk.description = rest;
  ReadLaunch(rest, thunk);
  ThunkKindRow row = ThunkKindOf(thunk.kind);
  thunk.library = row.library;
  if (row.role == ThunkRole::kKernel && thunk.kernel.empty())
    thunk.kernel = rest.substr(0, rest.find_first_of(" ,"));
  return true;
}

// Whether a line has bytes that XLA writes in none: control characters, or what is no UTF-8.
bool IsDamaged(std::string_view line) {
  return !IsUtf8(line) || std::ranges::any_of(line, [](char c) {
    return (c >= 0 && c < ' ' && c != '\t') || c == '\x7f';
  });
}

// Headers of nested sequences.
bool IsHeader(std::string_view line) {
  line = Trim(line);
  return line.empty() || line == "No thunks." || line.ends_with(':') || line.ends_with('{') ||
         line == "}";
}

}  // namespace

bool HoldsThunks(std::string_view kind) { return ThunkKindOf(kind).role == ThunkRole::kBody; }

ThunkKindRow ThunkKindOf(std::string_view kind) {
  if (const ThunkKindRow* row = FindKind(kind)) return *row;
  std::string plain(kind);
  for (std::string_view part : {"Nccl", "Nvshmem", "Start", "Done"}) {
    if (size_t at = plain.find(part); at != std::string::npos) plain.erase(at, part.size());
  }
  if (const ThunkKindRow* row = FindKind(plain)) return *row;
  return {kind, ThunkRole::kUnknown, "", ""};
}

std::vector<Thunk> ReadThunkSequence(std::string_view text, const Limits& limits,
                                     std::vector<std::string>& warnings) {
  std::vector<Thunk> thunks;
  std::vector<std::pair<size_t, int32_t>> open;  // indent and thunk, outermost first
  LineReader lines(text);
  std::string_view line;
  std::string_view inside;
  while (!inside.empty() || lines.Next(line)) {
    // One within the thunk before it stands behind a blank and its own indent.
    const bool is_inside = !inside.empty();
    if (is_inside) line = inside.substr(inside.starts_with(' ') ? 1 : 0);
    Thunk thunk;
    thunk.line = lines.number();
    const bool is_thunk = ReadThunk(line, thunk, inside);
    const bool is_damaged = !is_inside && IsDamaged(line);
    if ((is_damaged || (!is_thunk && !IsHeader(line))) &&
        warnings.size() < static_cast<size_t>(limits.diagnostics))
      warnings.push_back(
          fmt::format("line {}: {}", lines.number(),
                      is_thunk ? "damaged, what it says of a thunk may be wrong" : "not a thunk"));
    if (!is_thunk) continue;
    if (static_cast<int64_t>(thunks.size()) >= limits.instructions) {
      warnings.emplace_back("more thunks than the limit `instructions`");
      break;
    }
    size_t indent = line.size() - TrimStart(line).size();
    if (is_inside) indent = std::max(indent, open.back().first + 1);
    while (!open.empty() && open.back().first >= indent) open.pop_back();
    thunk.depth = static_cast<int32_t>(open.size());
    thunk.parent = open.empty() ? -1 : open.back().second;
    open.emplace_back(indent, static_cast<int32_t>(thunks.size()));
    thunks.push_back(std::move(thunk));
  }
  return thunks;
}

namespace {

ThunkMetadata ReadEntry(std::string_view bytes, bool& ok) {
  ThunkMetadata entry;
  hlo::WireReader reader(bytes);
  hlo::WireField field;
  while (reader.Next(field)) {
    if (field.tag == hlo::AsBytes(2)) entry.kind = field.bytes;
    if (field.tag != hlo::AsBytes(1)) continue;
    hlo::WireReader info(field.bytes);
    hlo::WireField inner;
    while (info.Next(inner)) {
      if (inner.tag == hlo::AsBytes(1)) entry.instruction = inner.bytes;
      if (inner.tag == hlo::AsVarint(3)) entry.id = inner.AsInt64();
    }
    ok &= info.ok();
  }
  ok &= reader.ok();
  return entry;
}

std::vector<ThunkMetadata> ReadBinary(std::string_view bytes, std::vector<std::string>& warnings) {
  std::vector<ThunkMetadata> entries;
  hlo::WireReader reader(bytes);
  hlo::WireField field;
  bool ok = true;
  while (reader.Next(field)) {
    if (field.tag == hlo::AsBytes(1)) entries.push_back(ReadEntry(field.bytes, ok));
  }
  if (!ok || !reader.ok()) warnings.emplace_back("the thunk metadata is truncated");
  return entries;
}

}  // namespace

std::vector<ThunkMetadata> ReadThunkMetadata(std::string_view bytes, bool is_text,
                                             std::vector<std::string>& warnings) {
  if (!is_text) return ReadBinary(bytes, warnings);
  std::vector<ThunkMetadata> entries;
  LineReader lines(bytes);
  std::string_view line;
  int64_t depth = 0, lost = 0, first_lost = 0;
  while (lines.Next(line)) {
    line = Trim(line);
    // Fields of later versions are whole lines, too.
    if (IsDamaged(line) ||
        !(line.empty() || line == "}" || line.ends_with(" {") || line.contains(": ")) ||
        (depth == 0 && line.contains(": "))) {
      if (lost++ == 0) first_lost = lines.number();
    }
    if (line.ends_with('{')) {
      if (depth == 0) entries.emplace_back();
      ++depth;
    } else if (line == "}") {
      --depth;
    } else if (!entries.empty()) {
      ThunkMetadata& entry = entries.back();
      if (TakeWord(line, "thunk_id: ")) {
        entry.id = TakeNumber(line).value_or(-1);
      } else if (TakeWord(line, "profile_annotation: \"")) {
        entry.instruction = line.substr(0, line.rfind('"'));
      } else if (TakeWord(line, "thunk_kind: \"")) {
        entry.kind = line.substr(0, line.rfind('"'));
      }
    }
  }
  if (lost != 0)
    warnings.push_back(fmt::format("line {}: damaged thunk metadata{}", first_lost,
                                   lost == 1 ? "" : fmt::format(", the first of {} lines", lost)));
  if (depth != 0) warnings.emplace_back("the thunk metadata is truncated");
  return entries;
}

}  // namespace hloscope::dump
