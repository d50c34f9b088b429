#include "core/debug/record/flag_probe.h"

#include <signal.h>

#include <chrono>
#include <optional>

#include "core/base/child_process.h"
#include "core/base/scratch_folder.h"

namespace hloscope::debug {
namespace {

struct SmallProgram {
  std::string_view framework;
  const char* text;
};
constexpr SmallProgram kSmall[] = {
    {"JAX", "import jax\njax.jit(lambda x: x + x)(1.0).block_until_ready()\n"},
    {"TensorFlow",
     "import tensorflow as tf\n"
     "tf.function(lambda x: x + x, jit_compile=True)(tf.constant(1.0)).numpy()\n"},
    {"PyTorch/XLA",
     "import torch, torch_xla\nx = torch.ones(2).to(torch_xla.device())\nx = x + x\n"
     "torch_xla.sync()\nx.cpu()\n"},
};
constexpr std::chrono::seconds kMaxTime{120};

// The environment with one folder in place of another.
Environment Moved(Environment environment, const std::string& from, const std::string& to) {
  for (std::string& entry : environment) {
    if (entry.starts_with("PYTHONPATH=")) continue;  // the hook is there
    for (size_t at = entry.find(from); at != std::string::npos; at = entry.find(from, at)) {
      entry.replace(at, from.size(), to);
      at += to.size();
    }
  }
  return environment;
}

// How the small program ends; nullopt: it cannot be run, or takes too long.
std::optional<ChildExit> Run(const std::string& python, const char* text,
                             const Environment& environment) {
  ChildOptions options{.program = python,
                       .arguments = {python, "-c", text},
                       .environment = environment,
                       .descriptors = {}};
  auto child = ChildProcess::Spawn(options);
  if (!child) return std::nullopt;
  child->ReadAll({}, std::chrono::steady_clock::now() + kMaxTime);
  if (child->passed_deadline()) return std::nullopt;
  return child->Wait(std::chrono::seconds(10));
}

}  // namespace

bool MayBeFlags(const ChildExit& exit, std::string_view log) {
  if (!exit.by_signal && exit.code == 0) return false;
  if (log.contains("Unknown flag in XLA_FLAGS") || log.contains("Unknown flags in XLA_FLAGS"))
    return true;
  if (!exit.by_signal) return false;
  for (const int fault : {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE, SIGTRAP}) {
    if (exit.code == fault) return true;
  }
  return false;
}

FlagVerdict TryFlags(const RecordedProgram& program, const Environment& users,
                     const RecordingPlan& plan) {
  FlagVerdict verdict;
  if (program.python.empty() || program.frameworks.empty()) return verdict;
  const SmallProgram* small = nullptr;
  for (const SmallProgram& row : kSmall) {
    if (row.framework == program.frameworks.front().name) small = &row;
  }
  auto scratch = ScratchFolder::Make();
  if (small == nullptr || !scratch) return verdict;
  const auto without = Run(program.python, small->text, users);
  if (!without || without->by_signal || without->code != 0) return verdict;
  const auto with =
      Run(program.python, small->text, Moved(plan.environment, plan.dump, scratch->path()));
  if (!with) return verdict;
  verdict.is_known = true;
  verdict.is_ours = with->by_signal || with->code != 0;
  verdict.framework = small->framework;
  verdict.how = with->ToString();
  return verdict;
}

}  // namespace hloscope::debug
