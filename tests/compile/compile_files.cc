// compile_files [--deadline SECONDS] [--off PASS] [--print] FILE…: compiles modules, one line each:
// sizes, kernels, time, and whether the result means the same. Random programs of `hunt`: --random
// SEED COUNT.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/debug/reduce/hunt/program_maker.h"
#include "core/dump/load.h"
#include "core/hlo/analysis/cost.h"
#include "core/hlo/opcode_traits.h"
#include "core/hlo/text/text.h"
#include "core/hlo/verify/verifier.h"
#include "tests/compile/meaning.h"

namespace hloscope::compile {
namespace {

int failures = 0;

// By the entry's instructions, loops counted once; what needs no code and reshapes move nothing.
double BytesMoved(const hlo::Module& module) {
  const hlo::CostModel& costs = hlo::CostsOf(module);
  double bytes = 0;
  for (uint32_t k = 0; k < module.entry().instruction_count; ++k) {
    const hlo::InstructionId id(module.entry().first_instruction + k);
    const bool moves = !HasTrait(module[id].opcode, hlo::kTraitNoCode) &&
                       module[id].opcode != hlo::Opcode::kReshape;
    if (moves) bytes += costs.Of(id).bytes();
  }
  return bytes;
}

void Report(const std::string& name, const std::shared_ptr<const hlo::Module>& module,
            const CompileOptions& options, double deadline, bool is_quiet) {
  const Meaning m = CompareMeaning(module, options, 0, deadline);
  if (!m.problem.empty()) ++failures;
  if (is_quiet && m.problem.empty()) return;
  const std::string verdict = !m.problem.empty() ? "DIFFERS " + m.problem
                              : deadline == 0    ? "compiled"
                              : !m.was_run       ? "not run: " + m.why_not
                              : m.same_bits      ? "same bits"
                                                 : "same within bounds";
  const size_t after = m.compilation.module ? m.compilation.module->instructions().size() : 0;
  const double before_bytes = BytesMoved(*module);
  const double after_bytes = m.compilation.module ? BytesMoved(*m.compilation.module) : 0;
  fmt::print("{}: {} -> {} instructions, {:.3f} -> {:.3f} MB moved, {} kernels, {:.2f} ms, {}\n",
             name, module->instructions().size(), after, before_bytes / 1e6, after_bytes / 1e6,
             m.compilation.kernels.size(), m.compile_ms, verdict);
}

int Main(std::vector<std::string> arguments) {
  CompileOptions options;
  double deadline = 20;
  bool print = false;
  for (size_t k = 0; k < arguments.size(); ++k) {
    const std::string& argument = arguments[k];
    if (argument == "--deadline") {
      deadline = std::stod(arguments[++k]);
    } else if (argument == "--off") {
      options.disabled_passes.push_back(arguments[++k]);
    } else if (argument == "--print") {
      print = true;
    } else if (argument == "--random") {
      const uint64_t seed = std::stoull(arguments[k + 1]), count = std::stoull(arguments[k + 2]);
      k += 2;
      for (uint64_t n = 0; n < count; ++n) {
        const auto program = debug::RandomProgram(seed, n);
        const auto& header = program->header();
        if (header.replica_count * header.num_partitions != 1) continue;
        Report(fmt::format("{}/{}", seed, n), program, options, deadline, true);
      }
    } else {
      const auto loaded = dump::LoadSoundModule(argument, Limits());
      if (!loaded) {
        fmt::print("{}: not read: {}\n", argument, loaded.error().message);
        continue;
      }
      const auto diagnostics = hlo::Verify(*loaded->module);
      if (std::ranges::any_of(diagnostics,
                              [](const auto& d) { return d.severity == hlo::Severity::kError; })) {
        fmt::print("{}: does not verify\n", argument);
        continue;
      }
      if (print) {
        const auto compiled = Compile(loaded->module, options);
        if (!compiled) continue;
        std::string text;
        hlo::PrintText(*compiled->module, hlo::TextFormat::kShort, text);
        fmt::print("{}\n", text);
        for (const PassTime& time : compiled->times) {
          fmt::print("// {} {:.2f} ms\n", time.pass, time.milliseconds);
        }
        for (const FusionDecision& d : compiled->decisions) {
          fmt::print("// {} -> {}: {}, {}\n", compiled->before_fusion->name(d.producer),
                     compiled->before_fusion->name(d.consumer), d.is_fused ? "fused" : "not fused",
                     d.reason);
        }
      }
      Report(argument, loaded->module, options, deadline, false);
    }
    std::fflush(stdout);
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace hloscope::compile

int main(int argc, char** argv) {
  return hloscope::compile::Main(std::vector<std::string>(argv + 1, argv + argc));
}
