// Frames of Python, the user's told from the frameworks'; those of Julia and Elixir are in
// other_frames.cc.
#include "core/dump/errors/traceback.h"

#include <charconv>
#include <optional>

#include "core/dump/errors/other_frames.h"
#include "core/dump/readers/line_reader.h"

namespace hloscope::dump {
namespace {

constexpr size_t kMaxAfter = 60, kMaxBefore = 400;  // lines

// `  File "train.py", line 12, in step`
std::optional<SourceLine> FrameOf(std::string_view line) {
  line = TrimStart(line);
  if (!TakeWord(line, "File \"")) return std::nullopt;
  const size_t end = line.find("\", line ");
  if (end == std::string_view::npos) return std::nullopt;
  std::string_view number = line.substr(end + 8);
  const auto value = TakeNumber(number);
  if (!value || *value < 0 || *value > INT32_MAX) return std::nullopt;
  return SourceLine{std::string(line.substr(0, end)), static_cast<int32_t>(*value), false};
}

std::optional<SourceLine> Numbered(std::string_view file, std::string_view number) {
  const auto value = TakeNumber(number);
  if (file.empty() || !value || *value < 0 || *value > INT32_MAX) return std::nullopt;
  return SourceLine{std::string(file), static_cast<int32_t>(*value), false};
}

// "File ~/fit/train.py:12, in step(x)", "Cell In[3], line 12", "Cell In[3], line 12, in step(x)".
std::optional<SourceLine> NotebookFrame(std::string_view line) {
  constexpr std::string_view kCellLine = "], line ";
  if (line.starts_with("Cell In[") || line.starts_with("Input In [")) {
    const size_t end = line.find(kCellLine);
    if (end == line.npos) return std::nullopt;
    return Numbered(line.substr(0, end + 1), line.substr(end + kCellLine.size()));
  }
  if (!TakeWord(line, "File ") || line.starts_with('"')) return std::nullopt;
  const std::string_view place = line.substr(0, line.find(", in "));
  const size_t colon = place.rfind(".py:");
  if (colon == place.npos) return std::nullopt;
  return Numbered(place.substr(0, colon + 3), place.substr(colon + 4));
}

// "<ipython-input-3-0a1b> in step(x)", "/opt/fit/train.py in step(x)" and, some lines below,
// "---> 12   y = f(x)".
std::optional<SourceLine> OldNotebookFrame(const std::vector<std::string_view>& lines, size_t k) {
  constexpr size_t kMaxShown = 12;  // lines of source below it
  std::string_view file = lines[k];
  if (file.starts_with('[')) file = Between(file, "[", "]");  // a link: [file](address) in step(x)
  file = file.substr(0, file.find(" in "));
  const bool is_file =
      file.ends_with(".py") || (file.starts_with("<ipython-input-") && file.ends_with('>'));
  if (!is_file || file.contains(' ') || !lines[k].contains(" in ")) return std::nullopt;
  for (size_t n = k + 1; n < lines.size() && n < k + kMaxShown; ++n) {
    std::string_view line = TrimStart(lines[n]);
    if (!line.starts_with("--")) continue;
    line.remove_prefix(std::min(line.find_first_not_of('-'), line.size()));
    if (TakeWord(line, "> ")) return Numbered(file, line);
  }
  return std::nullopt;
}

bool BeginsTrace(std::string_view line) {
  return line.find("The op is created at:") != std::string_view::npos ||
         line.find("Stack trace for op definition:") != std::string_view::npos;
}

// The last frame of the program itself in the trace that begins after line `start`.
SourceLine LastOfTrace(const std::vector<std::string_view>& lines, size_t start) {
  SourceLine found;
  for (size_t k = start; k < lines.size() && k < start + kMaxAfter; ++k) {
    auto frame = FrameOf(lines[k]);
    if (!frame) break;
    if (!IsFrameworkFile(frame->file)) found = *std::move(frame);
  }
  return found;
}

// The last frame of the program itself in a traceback whose head is at the end of the message: of
// what the message is about, as the Python function of a callback.
SourceLine LastOfMessage(const std::vector<std::string_view>& lines, size_t error) {
  SourceLine found;
  if (!lines[error].contains(": Traceback (most recent call last)")) return found;
  for (size_t k = error + 1; k < lines.size() && k < error + kMaxBefore; ++k) {
    if (!lines[k].starts_with(' ')) break;  // frames and their source are indented
    auto frame = FrameOf(lines[k]);
    if (frame && !IsFrameworkFile(frame->file)) found = *std::move(frame);
  }
  return found;
}

// "(defined @ train.py:12)"
SourceLine DefinedAt(std::string_view line) {
  const std::string_view place = Between(line, "(defined @ ", ")");
  const size_t colon = place.rfind(':');
  if (colon == std::string_view::npos) return {};
  std::string_view number = place.substr(colon + 1);
  const auto value = TakeNumber(number);
  if (!value || *value < 0 || *value > INT32_MAX) return {};
  return {std::string(place.substr(0, colon)), static_cast<int32_t>(*value), true};
}

}  // namespace

std::optional<SourceLine> FrameAt(const std::vector<std::string_view>& lines, size_t k) {
  if (auto frame = FrameOf(lines[k])) return frame;
  if (auto frame = NotebookFrame(lines[k])) return frame;
  return OldNotebookFrame(lines, k);
}

bool IsFrameworkFile(std::string_view file) {
  for (std::string_view part :
       {"site-packages/", "dist-packages/", "lib/python3", "<frozen ", "<string>",
        "<eval_with_key>", "<__array_function__", "__autograph_generated_file", "site-packages\\",
        "/tensorflow/python/", "/jax/_src/", "/torch_xla/", "/hloscope-hook/"}) {
    if (file.find(part) != std::string_view::npos) return true;
  }
  return false;
}

SourceLine FindSourceLine(const std::vector<std::string_view>& lines, size_t error) {
  if (SourceLine found = LastOfMessage(lines, error); !found.file.empty()) return found;
  for (size_t k = error; k < lines.size() && k < error + kMaxAfter; ++k) {
    if (k > error && lines[k].find("Traceback (most recent call last)") != std::string_view::npos)
      break;
    if (!BeginsTrace(lines[k])) continue;
    SourceLine found = LastOfTrace(lines, k + 1);
    if (!found.file.empty()) return found;
  }
  // Up to the beginning of the traceback the frames come in the order of the calls.
  SourceLine found;
  for (size_t k = error; k-- > 0 && error - k < kMaxBefore;) {
    if (lines[k].find("Traceback (most recent call last)") != std::string_view::npos) break;
    auto frame = FrameAt(lines, k);
    if (frame && !IsFrameworkFile(frame->file)) {
      found = *std::move(frame);
      break;
    }
  }
  if (!found.file.empty()) return found;
  found = FindOtherSourceLine(lines, error);
  return found.file.empty() ? DefinedAt(lines[error]) : found;
}

}  // namespace hloscope::dump
