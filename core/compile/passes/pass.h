// Pass: one step of the compiler, a row of passes.def.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/compile/compile.h"
#include "core/hlo/module.h"

namespace hloscope::compile {

struct PassResult {
  std::shared_ptr<const hlo::Module> module;  // null where nothing changed
  // By id in the module before: where its value is now; invalid where no instruction has it.
  std::vector<hlo::InstructionId> new_id;
  // Of every instruction of the new module, sorted.
  std::vector<hlo::Origin> origins;
};

// `out` takes what a pass has to say beside the module. Errors are our own (internal).
using PassFunction = Result<PassResult> (*)(const std::shared_ptr<const hlo::Module>& module,
                                            Compilation& out);

#define PASS(name, function, scope, what) \
  Result<PassResult> function(const std::shared_ptr<const hlo::Module>& module, Compilation& out);
#include "core/compile/passes/passes.def"
#undef PASS

enum class PassScope : uint8_t {
  kAnyModule,
  kOwnValues,  // not of modules that have yet to be partitioned, some of whose values are global
};

struct PassRow {
  std::string_view name;
  PassFunction run;
  PassScope scope;
  std::string_view what;
};
inline constexpr PassRow kPasses[] = {
#define PASS(name, function, scope, what) {name, &function, PassScope::scope, what},
#include "core/compile/passes/passes.def"
#undef PASS
};

}  // namespace hloscope::compile
