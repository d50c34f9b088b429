// Compile: what the compiler decides about a module, without writing any code: passes, fusion and
// the kernels that are left. core/codegen writes the code of the kernels.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/compile/plan/plan.h"
#include "core/hlo/module.h"
#include "core/hlo/rewrite/origins.h"

namespace hloscope::compile {

struct CompileOptions {
  std::vector<std::string> disabled_passes;  // by name, as passes.def has them
  bool keep_stages = false;                  // the module behind every pass that changed it
  bool verify = false;                       // the module behind every pass, for tests
  // Leaves the module as it is: every instruction is a kernel of its own, inside fusions too, so
  // that each of its values is made.
  bool keep_values = false;
  // The module has yet to be partitioned and devices have work of their own: values are global
  // outside of manual regions, a device's own inside. It stays as it is, too, unless a pass writes
  // the borders of the regions as instructions.
  bool is_unpartitioned = false;
  // False: no dot or convolution is a call of a library, kernels do it.
  bool library_calls = true;
  // Collectives are steps of the plan: only where runs of plans meet one another's.
  bool plan_collectives = false;
  // What core/codegen has code of GPUs alone for is kernels too: Fourier transforms and factors of
  // matrices.
  bool gpu_kernels = false;
  // The processor adds up products of bytes (AVX512-VNNI): kernels do dots of s8 and u8, which are
  // not converted for a library.
  bool byte_kernels = false;
};

// What a pass made of a module.
struct Stage {
  std::string pass;
  std::shared_ptr<const hlo::Module> module;
  // By id in the module before: its id here; invalid where it was removed.
  std::vector<hlo::InstructionId> new_id;
  std::vector<hlo::Origin> origins;  // in the module before, sorted
};

// Why two instructions share a kernel or do not; ids are of the module before fusion.
struct FusionDecision {
  hlo::InstructionId producer, consumer;
  bool is_fused = false;
  std::string reason;  // "3 users, 18 MB recomputed"
};

// How long a pass took.
struct PassTime {
  std::string_view pass;
  double milliseconds = 0;
};

struct Compilation {
  // The module to run: its fusions are ours, everything is in the order of execution.
  std::shared_ptr<const hlo::Module> module;
  // Instructions of `module` that are run as kernels, in order.
  std::vector<hlo::InstructionId> kernels;
  // How the entry runs; null where it can only be run instruction by instruction.
  std::shared_ptr<const Plan> plan;
  std::string why_no_plan;        // then
  bool library_calls = true;      // as the options have it
  bool plan_collectives = false;  // likewise
  bool is_unpartitioned = false;  // likewise
  bool gpu_kernels = false;       // likewise
  bool byte_kernels = false;      // likewise
  std::vector<FusionDecision> decisions;
  std::shared_ptr<const hlo::Module> before_fusion;
  // By id in the module as given: where the value of the instruction is in `module`; invalid where
  // no instruction has it any more.
  std::vector<hlo::InstructionId> new_id;
  std::vector<Stage> stages;    // empty unless they are kept
  std::vector<PassTime> times;  // of the passes that ran, in order
};

// Compiles for one processor. Errors: a pass named in the options that there is not (input), or a
// pass left a module that does not verify (internal).
Result<Compilation> Compile(std::shared_ptr<const hlo::Module> module,
                            const CompileOptions& options = {});

}  // namespace hloscope::compile
