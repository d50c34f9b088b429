// Blocks of lines "Compilation Analysis: …": cause, hash of the graph, inputs, Python frames.
#include "core/debug/recompile/torch_log.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/counted.h"
#include "core/debug/recompile/log_line.h"
#include "core/dump/errors/traceback.h"

namespace hloscope::debug {

namespace {

// What PyTorch/XLA calls a GB has 2^30 bytes.
std::string InUnits(std::string_view size) {
  const size_t unit = size.rfind(" GB");
  if (unit == size.npos) return std::string(size);
  return fmt::format("{} GiB{}", size.substr(0, unit), size.substr(unit + 3));
}

// Whether a block about a compilation has such a line in its middle.
bool IsInBlock(std::string_view text) {
  return text.contains("Graph Hash: ") || text.contains("Number of Graph ") ||
         text.contains("Python Frame Triggered");
}

}  // namespace

void TorchLog::Warn(int64_t line, std::string_view what) {
  log_.warnings.push_back(fmt::format("{}:{}: {}", name_, line, what));
}

bool TorchLog::Take(std::string_view line, int64_t number) {
  if (const auto size = Behind(line, "Post Compilation Analysis: ")) {
    End();
    TakeSize(Trimmed(*size));
    return true;
  }
  auto text = Behind(line, "Compilation Analysis: ");
  const bool is_execution = !text;
  if (is_execution) text = Behind(line, "Execution Analysis: ");
  if (!text) {
    if (open_ && line.find_first_not_of(" \r") != std::string_view::npos) End();
    return false;
  }
  if (text->contains("Compilation Cause") || text->contains("Execution Cause")) {
    End();
    open_ = cause_next_ = true;
    told_ = false;
    block_.is_execution = is_execution;
    block_.line = number;
    return true;
  }
  if (open_) {
    TakeText(Trimmed(*text));
  } else if (!is_execution && !told_ && IsInBlock(*text)) {
    told_ = true;
    Warn(number, "a line about a graph whose compilation does not begin in the log");
  }
  return true;
}

void TorchLog::TakeText(std::string_view text) {
  auto count = [](std::string_view number) {
    return static_cast<int64_t>(LeadingNumber(number).value_or(-1));
  };
  if (cause_next_) {
    cause_next_ = false;
    block_.cause = text;
  } else if (auto hash = Behind(text, "Graph Hash: ")) {
    block_.hash = *hash;
  } else if (auto name = Behind(text, "Graph Name: ")) {
    block_.name = *name;
  } else if (text.starts_with("Number of Graph Input")) {  // "Inputs: 3", before 2024 "Input: 3"
    block_.inputs = count(Behind(text, ": ").value_or(""));
  } else if (text.starts_with("Number of Graph Output")) {
    block_.outputs = count(Behind(text, ": ").value_or(""));
  } else if (text.starts_with("Python Frame Triggered Execution")) {
    frames_next_ = true;
  } else if (text.starts_with("---") || text.starts_with("===")) {
    if (frames_next_) End();
  } else if (frames_next_ && !text.starts_with("..")) {
    block_.frames.emplace_back(text);
  }
}

// "Graph input size: 1.548000 GB", of the graph that was compiled last.
void TorchLog::TakeSize(std::string_view text) {
  struct Size {
    std::string_view mark, what;
  };
  constexpr Size kSizes[] = {{"Graph input size: ", "inputs"},
                             {"Graph output size: ", "outputs"},
                             {"Aliased Input size: ", "inputs that outputs overwrite"},
                             {"Intermediate tensor size: ", "intermediate tensors"},
                             {"Compiled program size: ", "code"}};
  if (compiled_ == kNone) return;
  for (const Size& size : kSizes) {
    const auto value = Behind(text, size.mark);
    // Digits to a thousand bytes: "0.000000 GB" of a small graph says nothing.
    if (!value || value->starts_with("Unknown") || value->starts_with("0.000000 ")) continue;
    auto& sizes = log_.graphs[compiled_].sizes;
    if (sizes.size() < std::size(kSizes))
      sizes.push_back(fmt::format("{} of {}", InUnits(*value), size.what));
  }
}

void TorchLog::Count(const Block& block, std::string_view function, std::string_view place) {
  const auto known = by_hash_.try_emplace(block.hash, log_.graphs.size());
  if (known.second) log_.graphs.emplace_back();
  TorchGraph& graph = log_.graphs[known.first->second];
  const bool is_first = block.is_execution ? known.second : graph.compilations == 0;
  if (is_first) {
    graph.hash = block.hash;
    graph.name = block.name;
    graph.cause = block.cause;
    graph.function = function;
    graph.place = place;
    graph.inputs = block.inputs;
    graph.outputs = block.outputs;
    graph.line = block.line;
  }
  ++(block.is_execution ? graph.executions : graph.compilations);
  if (!block.is_execution) compiled_ = known.first->second;
}

void TorchLog::End() {
  if (!open_) return;
  open_ = frames_next_ = cause_next_ = false;
  Block block = std::exchange(block_, {});
  if (block.hash.empty() || block.frames.empty()) {
    if (!block.is_execution) {
      told_ = true;
      Warn(block.line, "a compilation without its hash or its Python frames");
    }
    return;
  }
  // The first frame that is not PyTorch/XLA's: "step (/home/me/train.py:8)"; dynamo's are so many
  // that the log may have none.
  const auto of_user = std::ranges::find_if_not(
      block.frames, [](const std::string& one) { return dump::IsFrameworkFile(one); });
  const bool is_users = of_user != block.frames.end();
  const std::string frame = is_users ? *of_user : block.frames.front();
  const auto place = Behind(frame, " (");
  std::string where = place ? std::string(Before(*place, ")")) : frame;
  if (!is_users) where.clear();
  Count(block, is_users ? Before(frame, " (") : "", where);
  if (block.is_execution) return;
  LoggedCompilation one;
  one.framework = "PyTorch/XLA";
  one.program = "SyncTensorsGraph";
  one.place = where;
  one.key = ProgramKey(one.framework, one.program);
  // Library frames are the same for all that dynamo compiles.
  if (is_users) one.series = one.key + " " + frame;
  one.line = block.line;
  one.note = block.cause;
  if (block.inputs >= 0) one.note += fmt::format(", a graph of {}", Counted(block.inputs, "input"));
  log_.compilations.push_back(std::move(one));
}

}  // namespace hloscope::debug
