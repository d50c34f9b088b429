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
    auto frame = FrameOf(lines[k]);
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
