// Blocks of lines "Compilation Analysis: …": cause, hash of the graph, inputs, Python frames.
#include "core/debug/recompile/torch_log.h"

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/debug/recompile/log_line.h"
#include "core/dump/errors/traceback.h"

namespace hloscope::debug {

void TorchLog::Warn(int64_t line, std::string_view what) {
  log_.warnings.push_back(fmt::format("{}:{}: {}", name_, line, what));
}

bool TorchLog::Take(std::string_view line, int64_t number) {
  const auto text = Behind(line, "Compilation Analysis: ");
  if (!text || line.find("Post Compilation Analysis") != std::string_view::npos) {
    if (open_ && line.find_first_not_of(" \r") != std::string_view::npos) End();
    return text.has_value();
  }
  if (text->find("Compilation Cause") != std::string_view::npos) {
    End();
    open_ = cause_next_ = true;
    block_.line = number;
    return true;
  }
  if (open_) {
    TakeText(Trimmed(*text));
  } else if (text->find("Graph Hash: ") != std::string_view::npos) {
    Warn(number, "the hash of a graph whose compilation does not begin in the log");
  }
  return true;
}

void TorchLog::TakeText(std::string_view text) {
  if (cause_next_) {
    cause_next_ = false;
    block_.cause = text;
  } else if (auto hash = Behind(text, "Graph Hash: ")) {
    block_.hash = *hash;
  } else if (auto inputs = Behind(text, "Number of Graph Inputs: ")) {
    block_.inputs = LeadingNumber(*inputs).value_or(-1);
  } else if (text.starts_with("Python Frame Triggered Execution")) {
    frames_next_ = true;
  } else if (text.starts_with("---") || text.starts_with("===")) {
    if (frames_next_) End();
  } else if (frames_next_ && !text.starts_with("..")) {
    block_.frames.emplace_back(text);
  }
}

void TorchLog::End() {
  if (!open_) return;
  open_ = frames_next_ = cause_next_ = false;
  Block block = std::exchange(block_, {});
  if (block.hash.empty() || block.frames.empty()) {
    Warn(block.line, "a compilation without its hash or its Python frames");
    return;
  }
  // The first frame that is not PyTorch/XLA's: "step (/home/me/train.py:8)".
  std::string frame = block.frames.front();
  for (const std::string& one : block.frames) {
    if (dump::IsFrameworkFile(one)) continue;
    frame = one;
    break;
  }
  LoggedCompilation one;
  one.framework = "PyTorch/XLA";
  one.program = "SyncTensorsGraph";
  const auto place = Behind(frame, " (");
  one.place = place ? std::string(Before(*place, ")")) : frame;
  one.key = ProgramKey(one.framework, one.program);
  one.series = one.key + " " + frame;
  one.line = block.line;
  one.note = block.cause;
  if (block.inputs >= 0) one.note += fmt::format(", a graph of {}", Counted(block.inputs, "input"));
  log_.compilations.push_back(std::move(one));
}

}  // namespace hloscope::debug
