// Failed checks of XLA, its verifier, LLVM and TPU cores: the instruction, the rule, the pass.
#include <fmt/format.h>

#include <algorithm>

#include "core/dump/errors/evidence.h"
#include "core/dump/readers/line_reader.h"

namespace hloscope::dump {
namespace {

constexpr size_t kMaxBehind = 60;

bool IsOperator(std::string_view token) {
  constexpr std::string_view kOperators[] = {"==", "!=", "<", ">", "<=", ">=", "&&", "||",
                                             "+",  "-",  "*", "/", "%",  "&",  "|"};
  return std::ranges::find(kOperators, token) != std::end(kOperators);
}

// The length of the C++ expression that the text begins with: words outside of brackets count as
// far as operators join them.
size_t ConditionLength(std::string_view text) {
  int depth = 0;
  bool joined = true;  // the next word belongs to it
  size_t end = 0;
  for (size_t k = 0; k <= text.size();) {
    const size_t begin = k;
    while (k < text.size() && (text[k] != ' ' || depth > 0)) {
      if (std::string_view("([{").contains(text[k])) ++depth;
      if (std::string_view(")]}").contains(text[k])) --depth;
      ++k;
    }
    const std::string_view word = text.substr(begin, k - begin);
    const bool is_operator = IsOperator(word);
    if (!joined && !is_operator) break;
    joined = is_operator;
    end = k++;
  }
  return end;
}

// The instruction that the message of a check names: "%add.3", "\"add.3\"" or "add.3".
std::string InstructionIn(std::string_view message) {
  for (const std::string_view mark : {"%", "\""}) {
    const size_t at = message.find(mark);
    if (at == message.npos) continue;
    const std::string_view name = message.substr(at + 1);
    const size_t end = name.find_first_of(" ,:)\"");
    if (end != 0) return std::string(name.substr(0, end));
  }
  const std::string_view word = message.substr(0, message.find(' '));
  const size_t dot = word.rfind('.');
  const bool is_name =
      dot != word.npos && dot > 0 && dot + 1 < word.size() &&
      std::ranges::all_of(word.substr(dot + 1), [](char c) { return c >= '0' && c <= '9'; });
  return is_name ? std::string(word) : std::string();
}

// "Failed after PASS" or "Failed after PASS in PIPELINE", on one of the lines behind.
struct FailedPass {
  std::string pass, pipeline;
};
FailedPass PassBehind(const ErrorPlace& place) {
  for (size_t k = 0; k < kMaxBehind; ++k) {
    std::string_view line = Trim(place.Behind(k));
    const size_t at = line.find("Failed after ");
    if (at == line.npos) continue;
    line.remove_prefix(at + std::string_view("Failed after ").size());
    const size_t in = line.find(" in ");
    FailedPass failed{std::string(line.substr(0, line.find_first_of(" ,.;"))), {}};
    if (in != line.npos)
      failed.pipeline = line.substr(in + 4, line.substr(in + 4).find_first_of(" ,.;"));
    return failed;
  }
  return {};
}

constexpr std::string_view kReport =
    "--xla_dump_to=DIR, then hloscope reduce and hloscope bundle for a report";

// The pass that left the module invalid, said and switched off.
void BlamePass(const ErrorPlace& place, Evidence& found, ExplainedError& error) {
  const FailedPass failed = PassBehind(place);
  if (failed.pass.empty()) {
    error.fix =
        fmt::format("hloscope verify MODULE says whether the module was wrong before; {}", kReport);
  } else if (failed.pass == "pipeline-start") {
    found.more += "; it was so at the start of a pipeline, before its first pass";
    error.fix = fmt::format(
        "hloscope verify on the module before optimizations says whether what wrote it is at "
        "fault; "
        "else the pipeline before is. {}",
        kReport);
  } else {
    found.more += fmt::format("; the pass {} left it so", failed.pass);
    if (!failed.pipeline.empty()) found.more += fmt::format(" (in {})", failed.pipeline);
    error.fix =
        fmt::format("--xla_disable_hlo_passes={} switches the pass off; {}", failed.pass, kReport);
  }
}

}  // namespace

namespace {

bool HasCudnnError(const ErrorPlace& place) {
  for (size_t k = place.at; k-- > 0 && place.at - k < 40;) {
    if (place.lines[k].contains("CUDNN_STATUS_") || place.lines[k].contains("cudnn handle"))
      return true;
  }
  return false;
}

// "Fft" where a frame of the stack behind the check is "xla::cpu::IrEmitter::HandleFft(": what XLA
// was making code for.
std::string_view HandledBy(const ErrorPlace& place) {
  constexpr std::string_view kHandle = "::Handle", kArgument = "(xla::HloInstruction";
  for (size_t k = 1; k < 12; ++k) {
    const std::string_view line = place.Behind(k);
    const size_t at = line.find(kHandle);
    if (at == line.npos) continue;
    const std::string_view name = line.substr(at + kHandle.size());
    const size_t end = name.find(kArgument);
    if (end != name.npos && end > 0 && name.substr(0, end).find_first_of(" (:<") == name.npos)
      return name.substr(0, end);
  }
  return {};
}

}  // namespace

Evidence ReadCheck(const ErrorPlace& place, ExplainedError& error) {
  const std::string_view text = Trim(place["text"]);
  const std::string_view condition = text.substr(0, ConditionLength(text));
  const std::string_view message = Trim(text.substr(condition.size()));
  std::string_view where = place["place"];
  where.remove_prefix(where.rfind('/') == where.npos ? 0 : where.rfind('/') + 1);
  Evidence found;
  found.key = fmt::format("{} {}", where, text);
  if (error.node.empty()) error.node = InstructionIn(message);
  TakeInstruction(FindInstruction(place, place.at, 1), error);
  error.reason = fmt::format("a check of XLA failed at {}", where);
  if (!condition.empty()) error.reason += fmt::format(": {}", condition);
  if (!message.empty()) error.reason += fmt::format(": {}", message);
  const bool is_reading = message.contains("invalid operand id") ||
                          place.Behind(2).contains("CreateFromProto") ||
                          place.Behind(3).contains("CreateFromProto");
  BlamePass(place, found, error);
  if (is_reading) {
    error.reason += ": the module is malformed, which is a fault of what wrote the module";
    error.fix = "hloscope verify MODULE names the instruction and its operand; mend what wrote it";
  } else if (condition.starts_with("dnn ")) {
    error.reason += ": cuDNN did not start";
    error.fix = HasCudnnError(place) ? "see the error of cuDNN before it, which says why"
                                     : "install the cuDNN that this build wants (pip install -U "
                                       "nvidia-cudnn-cu12); hloscope doctor says what is found";
  } else if (condition.starts_with("options.num_nodes == 1 || kv_get")) {
    error.reason += ": a client for several processes was asked for, without what connects them";
    error.fix =
        "where you asked for one process, the front end and its XLA are of versions that do not "
        "fit (EXLA: exla and xla of one release, no XLA archive of another)";
  }
  if (const std::string_view handled = HandledBy(place); !handled.empty())
    error.reason += fmt::format("; it was in the code for {}", handled);
  error.reason += std::exchange(found.more, {});
  return found;
}

// "F0000 00:00:17… 21 while_util.cc:229] Check failed: …"
// "The MLIR operation involved:", then `%6 = "tpu.reshape"(%5) : (vector<32xi1>) -> …`.
Evidence ReadMosaic(const ErrorPlace& place, ExplainedError& error) {
  place.captures["operation"].clear();
  for (size_t k = 1; k < 5; ++k) {
    if (!place.Behind(k).contains("MLIR operation involved:")) continue;
    const std::string_view line = Trim(place.Behind(k + 1));
    const std::string_view name = Between(line, "= \"", "\"");
    const size_t types = line.rfind(" : (");
    if (name.empty() || types == line.npos) break;
    if (error.op.empty()) error.op = name;
    place.captures["operation"] = fmt::format(": {} {}", name, line.substr(types + 3));
    break;
  }
  return {};
}

Evidence ReadFailedCheck(const ErrorPlace& place, ExplainedError&) {
  const auto what = place.captures.find("what");
  if (what != place.captures.end())
    what->second = Trim(what->second.substr(0, what->second.find("*** Begin stack trace")));
  std::string_view before = place.line();
  before = before.substr(0, before.find("] Check failed"));
  if (before.size() == place.line().size()) return {};
  return {.key = {}, .more = fmt::format(" (at {})", before.substr(before.find_last_of(" /") + 1))};
}

Evidence ReadVerifier(const ErrorPlace& place, ExplainedError& error) {
  // The rule: up to the instruction, the blank line or the pass.
  constexpr std::string_view kBegin = "[hlo verifier]:";
  std::string rule;
  for (size_t k = 0; k < 8; ++k) {
    std::string_view line = place.Behind(k);
    if (k == 0) line.remove_prefix(std::min(line.find(kBegin) + kBegin.size(), line.size()));
    line = Trim(line);
    if (k > 0 && (line.empty() || line.starts_with('%') || line.starts_with(", for instruction") ||
                  line.starts_with("Failed after ")))
      break;
    const size_t instruction = std::min(line.find(", for instruction"), line.find(": %"));
    if (!line.empty()) rule += (rule.empty() ? "" : " ") + std::string(line.substr(0, instruction));
    if (instruction != line.npos) break;
  }
  while (rule.ends_with(':') || rule.ends_with('.')) rule.pop_back();
  Evidence found;
  TakeInstruction(FindInstruction(place, place.at, 12), error);
  error.reason = "XLA's verifier refused the module: " + rule;
  BlamePass(place, found, error);
  error.reason += std::exchange(found.more, {});
  return found;
}

namespace {

struct Halt {
  std::string_view mark, reason, fix;
};
constexpr Halt kHalts[] = {
    {"observed errors are: [User", "an instruction broke a rule of the hardware",
     "report it to XLA: the compiler should not make such code"},
    {"observed errors are: [", "the chip, the network between chips or the power failed",
     "run it again; where it is always the same host, take the host out of the job"},
    {"launch group", "this core got a different program than the others of its launch group",
     "the same program, XLA_FLAGS and versions on all hosts"},
    {"BoundsCheck", "it accessed memory out of bounds",
     "check the indices in a kernel that you wrote (pl.debug_print, checkify)"},
    {"Semaphore",
     "a semaphore of the kernel was not zero at its end: a DMA or a signal was not "
     "awaited",
     "wait for every DMA and pair every signal with a wait in the kernel"},
    {"", "a check of the compiled program or the hardware failed",
     "see the rest of the message; without one it is a matter for a report"},
};

}  // namespace

Evidence ReadHalt(const ErrorPlace& place, ExplainedError& error) {
  std::string text;
  for (size_t k = 0; k < 6 && !place.Behind(k).starts_with("Traceback"); ++k)
    (text += place.Behind(k)) += ' ';
  if (error.node.empty()) error.node = Between(text, " HLO: ", ";");
  const Halt* halt =
      std::ranges::find_if(kHalts, [&](const Halt& h) { return text.contains(h.mark); });
  error.reason = fmt::format("a TPU core stopped: {}", halt->reason);
  const size_t message = text.find("from TensorCoreSequencer");
  const size_t colon = message == text.npos ? text.npos : text.find("): ", message);
  if (colon != text.npos) {
    std::string_view what = std::string_view(text).substr(colon + 3);
    what = Trim(what.substr(0, std::min(what.find(". HLO: "), size_t{200})));
    error.reason += fmt::format(" ({})", what);
  }
  error.fix = halt->fix;
  return {.key = "halt " + error.node, .more = {}};
}

Evidence ReadTarget(const ErrorPlace& place, ExplainedError& error) {
  // NVIDIA's release history of PTX: the first CUDA that has a version of it.
  struct Release {
    std::string_view ptx, cuda;
  };
  constexpr Release kReleases[] = {{"7.8", "11.8"}, {"8.0", "12.0"}, {"8.1", "12.1"},
                                   {"8.2", "12.2"}, {"8.3", "12.3"}, {"8.4", "12.4"},
                                   {"8.5", "12.5"}, {"8.6", "12.7"}, {"8.7", "12.8"},
                                   {"8.8", "12.9"}, {"9.0", "13.0"}};
  std::string needed(place["needed"]);
  if (needed.size() == 2 && !needed.contains('.')) needed.insert(1, ".");
  std::string_view gpu = place["gpu"];
  if (place["written"].empty() && needed.empty()) return {};  // the row says it
  std::string capability(gpu.substr(0, gpu.find_last_of("0123456789") + 1));
  capability.erase(0, std::string_view("sm_").size());
  if (capability.size() > 1) capability.insert(capability.size() - 1, ".");
  error.reason = fmt::format(
      "the GPU {} (compute capability {}) is newer than the CUDA with which this XLA was built",
      gpu, capability);
  if (!needed.empty()) {
    error.reason += fmt::format(": it needs PTX {}", needed);
    const auto* release = std::ranges::find(kReleases, std::string_view(needed), &Release::ptx);
    if (release != std::end(kReleases)) error.reason += fmt::format(" (CUDA {})", release->cuda);
  }
  if (!place["written"].empty())
    error.reason += fmt::format(", and this XLA writes PTX {}", place["written"]);
  return {.key = fmt::format("{} {}", gpu, needed), .more = {}};
}

// "'sm_120a' is not a recognized processor for this target".
Evidence ReadFeature(const ErrorPlace& place, ExplainedError&) {
  const std::string_view before =
      place.line().substr(0, place.line().find("' is not a recognized"));
  place.captures["gpu"] = before.substr(before.rfind('\'') + 1);
  return {};
}

Evidence ReadTrials(const ErrorPlace& place, ExplainedError& error) {
  TakeInstruction(FindInstruction(place, place.at, 4), error);
  Evidence found{.key = error.node, .more = {}};
  for (size_t k = 0; k < kMaxBehind; ++k) {
    const std::string_view line = place.Behind(k);
    const bool is_memory = line.contains("ALLOC_FAILED") || line.contains("ut of memory") ||
                           line.contains("RESOURCE_EXHAUSTED");
    if (is_memory) {
      found.more = "; they found no memory for their workspace";
      break;
    }
    const size_t status = line.find("CUDNN_STATUS_");
    if (found.more.empty() && status != line.npos)
      found.more =
          fmt::format(": {}", line.substr(status, line.substr(status).find_first_of(" \n'")));
  }
  return found;
}

Evidence ReadDifference(const ErrorPlace& place, ExplainedError& error) {
  TakeInstruction(FindInstruction(place, place.at, 4), error);
  Evidence found{.key = std::string(place["what"]), .more = {}};
  // The comparison wrote the first elements that differ before.
  for (size_t k = place.at; k-- > 0 && place.at - k < 30;) {
    const size_t at = place.lines[k].find("Difference at ");
    if (at == std::string_view::npos) break;
    const std::string_view difference =
        place.lines[k].substr(at + std::string_view("Difference at ").size());
    found.more = fmt::format(": at element {}", difference);
  }
  return found;
}

// PyTorch/XLA's profiler counts on: the last line of a count is the whole.
Evidence ReadCounts(const ErrorPlace& place, ExplainedError& error) {
  Evidence found{.key = "counts " + error.kind, .more = {}};
  found.is_repeat = place.told.contains(found.key);
  if (found.is_repeat) return found;
  const std::string_view mark =
      error.kind == "transfers" ? "Time too frequent: " : "CompileTime too frequent: ";
  std::string_view last;
  for (size_t k = place.at; k < place.lines.size(); ++k) {
    const size_t at = place.lines[k].find(mark);
    const bool is_compile = place.lines[k].contains("CompileTime");
    if (at != std::string_view::npos && is_compile == (error.kind == "compiled_often"))
      last = place.lines[k].substr(at + mark.size());
  }
  error.reason =
      fmt::format("{} {} in {} steps", last.substr(0, last.find(' ')),
                  error.kind == "transfers" ? "transfers from the device" : "compilations",
                  Between(last, "during ", " steps"));
  return found;
}

Evidence ReadAlarm(const ErrorPlace& place, ExplainedError& error) {
  if (!place["time"].empty() && error.kind == "slow_compile") return {};  // the row says it
  const bool folding = error.kind == "slow_folding";
  if (folding) {
    const std::string_view own = place["instruction"];
    const std::string_view text =
        own.empty() ? Trim(place.Behind(1)).empty() ? Trim(place.Behind(2)) : Trim(place.Behind(1))
                    : own;
    TakeInstruction(text, error);
    if (error.node.empty()) error.node = text.substr(0, text.find(' '));
    const size_t type = text.find(" = ");
    if (type != text.npos) {
      const std::string_view rest = text.substr(type + 3);
      error.reason = fmt::format(" ({})", rest.substr(0, rest.find_first_of("{ ")));
    }
  }
  Evidence found{.key = error.node, .more = std::exchange(error.reason, {})};
  // "The operation took 19.3s" comes before the repetition of its alarm, or, in older versions
  // without one, after it and before the next.
  constexpr std::string_view kTook = "The operation took ";
  auto took = [&](std::string_view line) {
    const size_t at = line.find(kTook);
    return at == line.npos ? std::string_view() : Trim(line.substr(at + kTook.size()));
  };
  std::string_view time;
  for (size_t k = place.at; time.empty() && k-- > 0 && place.at - k < 5;)
    time = took(place.lines[k]);
  for (size_t k = 1; time.empty() && k < 400 && place.at + k < place.lines.size(); ++k) {
    const std::string_view line = place.Behind(k);
    time = took(line);
    if (time.empty() && line.contains("slow_operation_alarm")) break;
    if (time.empty()) continue;
    // Its alarm is repeated behind: of another operation it is not the time.
    for (size_t n = k + 1; n < k + 5; ++n) {
      const std::string_view again = place.Behind(n);
      const bool is_alarm =
          again.contains("[Compiling module ") || again.contains("Constant folding an");
      if (is_alarm && !again.contains(error.node) && !place.Behind(n + 1).contains(error.node) &&
          !place.Behind(n + 2).contains(error.node))
        time = {};
    }
  }
  found.more += time.empty() ? "; the log does not say how long it took in the end"
                             : fmt::format(": it took {}", time);
  return found;
}

}  // namespace hloscope::dump
