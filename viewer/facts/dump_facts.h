// DumpFacts: the modules of a dump side by side: what each is, how long it took, what distinguishes
// it from others of its name, and the order of a table of them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/debug/recompile/recompilation.h"
#include "core/dump/dump_model.h"
#include "viewer/facts/module_facts.h"
#include "viewer/model/context.h"
#include "viewer/model/pending.h"

namespace hloscope::viewer {

// The facts of one module, read in the background.
const Pending<ModuleFacts>& FactsOf(Context& context, int32_t module);

// By module; null: not read. Dumps whose modules are too much to be read at once are read in part,
// the largest files first.
struct DumpFacts {
  std::vector<std::shared_ptr<const ModuleFacts>> modules;
  int64_t left_out = 0;  // modules that were not read
};
// Null while they are read, a few at a time: ask again in every frame.
const DumpFacts* DumpFactsOf(Context& context);

// Programs that the dump holds more than once; null: while they are compared, or there are none.
const debug::Recompilations* RecompilationsOf(Context& context);

// Picoseconds of the profile by module of the dump, 0 where it has none of it; null: no profile, or
// it is being read.
using ModuleTimes = std::vector<int64_t>;
const ModuleTimes* ModuleTimesOf(Context& context);

// Whether another module of the dump has that name.
bool SharesName(const dump::DumpModel& dump, int32_t module);
// The name in a sentence: with id and folder where another module has it too.
std::string ModuleTitle(const dump::DumpModel& dump, int32_t module);
// What distinguishes a module: the id where another has its name, fingerprint, arguments and
// results. `facts` may be null.
std::string IdentityText(const dump::DumpModel& dump, int32_t module, const ModuleFacts* facts);

// Every word of `filter` is in its name, folder, "id N", device, arguments or fingerprint, in any
// case.
bool FitsFilter(const dump::DumpModel& dump, int32_t module, const ModuleFacts* facts,
                std::string_view filter);

enum class ModuleColumn : uint8_t {
  kName,
  kFolder,
  kIdentity,
  kDevice,
  kStages,
  kBefore,
  kCompiled,
  kFusions,
  kKernels,
  kMemory,
  kTime,
};
// The number in that column, which is after kDevice; -1: not known. `facts` and `times` may be
// null.
int64_t NumberIn(const dump::DumpModel& dump, int32_t module, const ModuleFacts* facts,
                 const ModuleTimes* times, ModuleColumn column);
// The modules that fit, in the order of that column; those of which it is not known come last, by
// the size of what was compiled. `facts` and `times` may be null.
std::vector<int32_t> OrderModules(const dump::DumpModel& dump, const DumpFacts* facts,
                                  const ModuleTimes* times, ModuleColumn by, bool descending,
                                  std::string_view filter);

}  // namespace hloscope::viewer
