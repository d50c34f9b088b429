// Asks for the facts of one module after another, and sorts modules by them.
#include "viewer/facts/dump_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/base/strings.h"
#include "core/debug/recompile/dump_recompilations.h"
#include "profiler/saturating_add.h"
#include "viewer/facts/profile_model.h"
#include "viewer/model/document.h"
#include "viewer/model/task_cache.h"

namespace hloscope::viewer {
namespace {

// Of files that hold final stages: as much as is read without being asked for.
constexpr int64_t kMaxBytes = 400'000'000;
// Other work waits for at most these: two modules, or as many small ones.
constexpr int kMaxAtOnce = 2, kMaxSmallAtOnce = 64;
constexpr int64_t kMaxSmallBytes = 2'000'000;

int64_t CompiledBytes(const dump::DumpModel& dump, int32_t module) {
  const int32_t stage = dump.FinalStage(module);
  const int32_t file = stage < 0 ? -1 : dump.ModuleFile(module, stage);
  return file < 0 ? 0 : dump.files()[static_cast<size_t>(file)].bytes;
}

// The largest first, and bytes by module.
struct ModuleSizes {
  std::vector<int32_t> order;
  std::vector<int64_t> bytes;
};

std::shared_ptr<ModuleSizes> SizesOf(const dump::DumpModel& dump) {
  auto sizes = std::make_shared<ModuleSizes>();
  sizes->order.resize(dump.modules().size());
  std::iota(sizes->order.begin(), sizes->order.end(), 0);
  for (const int32_t m : sizes->order) sizes->bytes.push_back(CompiledBytes(dump, m));
  std::ranges::stable_sort(sizes->order, std::greater(),
                           [&](int32_t m) { return sizes->bytes[static_cast<size_t>(m)]; });
  return sizes;
}

std::vector<int32_t> AllModules(const dump::DumpModel& dump) {
  std::vector<int32_t> all(dump.modules().size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

struct TimesKey {
  using Value = ModuleTimes;
  std::string path;
  auto operator<=>(const TimesKey&) const = default;
};

std::string WordsIn(const dump::DumpModel& dump, int32_t module, const ModuleFacts* facts,
                    ModuleColumn column) {
  const dump::ModuleEntry& entry = dump.modules()[static_cast<size_t>(module)];
  if (column == ModuleColumn::kName) return entry.name;
  if (column == ModuleColumn::kDevice) return entry.device + " " + entry.target;
  if (column == ModuleColumn::kFolder) return entry.folder;
  return facts == nullptr ? std::string() : facts->signature;
}

}  // namespace

const Pending<ModuleFacts>& FactsOf(Context& context, int32_t module) {
  return context.cache.Get(
      PartKey<ModuleFacts>{module}, "analysing modules",
      [dump = context.document.dump().value, module](TaskControl&) {
        return Result<std::shared_ptr<const ModuleFacts>>(FindModuleFacts(*dump, module));
      });
}

const debug::Recompilations* RecompilationsOf(Context& context) {
  const auto& found = context.cache.Get(
      PartKey<debug::Recompilations>{}, "finding recompilations",
      [dump = context.document.dump().value](TaskControl&) {
        return Computed<debug::Recompilations>(
            std::make_shared<const debug::Recompilations>(debug::RecompilationsIn(*dump)));
      });
  return found.ready() && !found.value->list.empty() ? found.value.get() : nullptr;
}

const DumpFacts* DumpFactsOf(Context& context) {
  using Key = PartKey<DumpFacts>;
  if (const auto* done = context.cache.Find(Key{.module = -1, .stage = -1}))
    return done->value.get();
  const Pending<dump::DumpModel>& dump = context.document.dump();
  if (!dump.ready()) return nullptr;
  // A frame does not look at every file.
  const Pending<ModuleSizes>& sizes = context.cache.Get(
      PartKey<ModuleSizes>{.module = -1, .stage = -1}, "sizes of modules",
      [model = dump.value](TaskControl&) { return Computed<ModuleSizes>(SizesOf(*model)); });
  if (!sizes.ready()) return nullptr;
  const std::vector<int32_t>& order = sizes->order;
  auto facts = std::make_shared<DumpFacts>();
  facts->modules.resize(order.size());
  int waiting = 0, failed = 0;
  int64_t sum = 0, waiting_bytes = 0;
  for (int32_t m : order) {
    const int64_t bytes = sizes->bytes[static_cast<size_t>(m)];
    sum += bytes;
    if (sum > kMaxBytes && m != order.front()) {
      ++facts->left_out;
      continue;
    }
    const Pending<ModuleFacts>& one = FactsOf(context, m);
    if (one.waiting()) {
      ++waiting;
      waiting_bytes += bytes;
      if (waiting >= (waiting_bytes > kMaxSmallBytes ? kMaxAtOnce : kMaxSmallAtOnce))
        return nullptr;
    }
    facts->modules[static_cast<size_t>(m)] = one.value;
    failed += one.failed() ? 1 : 0;
  }
  if (waiting > 0) return nullptr;
  facts->left_out += failed;
  // What was cancelled can be resumed: then all is looked at again.
  return context.cache
      .Get(Key{.module = failed == 0 ? -1 : -2, .stage = -failed - 1}, "comparing modules",
           [facts](TaskControl&) { return Computed<DumpFacts>(facts); })
      .value.get();
}

const ModuleTimes* ModuleTimesOf(Context& context) {
  if (!context.document.dump().ready() || ProfilePaths(context).empty()) return nullptr;
  const Pending<ProfileModel>* profile = ProfileOf(context);
  if (profile == nullptr || !profile->ready()) return nullptr;
  return context.cache
      .Get(TimesKey{(*profile)->path}, "summing times",
           [model = profile->value,
            count = context.document.dump()->modules().size()](TaskControl&) {
             auto times = std::make_shared<ModuleTimes>(count, 0);
             for (const profiler::InstructionTime& time : model->attribution->times()) {
               const int32_t module = model->TimedModule(time.target);
               if (module < 0) continue;
               int64_t& own = (*times)[static_cast<size_t>(module)];
               own = profiler::SaturatingAdd(own, time.self);
             }
             return Computed<ModuleTimes>(times);
           })
      .value.get();
}

bool SharesName(const dump::DumpModel& dump, int32_t module) {
  return std::ranges::count(dump.modules(), dump.modules()[static_cast<size_t>(module)].name,
                            &dump::ModuleEntry::name) > 1;
}

std::string ModuleTitle(const dump::DumpModel& dump, int32_t module) {
  return ModuleTitle(dump.modules()[static_cast<size_t>(module)], SharesName(dump, module));
}

std::string IdentityText(const dump::DumpModel& dump, int32_t module, const ModuleFacts* facts) {
  const dump::ModuleEntry& entry = dump.modules()[static_cast<size_t>(module)];
  std::string text;
  auto add = [&](const std::string& part) {
    if (!part.empty()) text += (text.empty() ? "" : "  ") + part;
  };
  if (SharesName(dump, module) && entry.id >= 0) add(fmt::format("id {}", entry.id));
  if (facts == nullptr) return text;
  if (!facts->fingerprint.empty()) add("#" + facts->fingerprint);
  add(facts->signature);
  return text;
}

bool FitsFilter(const dump::DumpModel& dump, int32_t module, const ModuleFacts* facts,
                std::string_view filter) {
  const dump::ModuleEntry& entry = dump.modules()[static_cast<size_t>(module)];
  std::string all = fmt::format("{}\n{}/\nid {}\n{} {}", entry.name, entry.folder, entry.id,
                                entry.device, entry.target);
  if (facts != nullptr) all += "\n" + facts->signature + "\n#" + facts->fingerprint;
  all = AsciiStrToLower(all);
  const std::string words = AsciiStrToLower(filter);
  for (size_t at = words.find_first_not_of(' '); at != std::string::npos;) {
    const size_t end = std::min(words.find(' ', at), words.size());
    if (all.find(words.substr(at, end - at)) == std::string::npos) return false;
    at = words.find_first_not_of(' ', end);
  }
  return true;
}

int64_t NumberIn(const dump::DumpModel& dump, int32_t module, const ModuleFacts* facts,
                 const ModuleTimes* times, ModuleColumn column) {
  const auto at = static_cast<size_t>(module);
  if (column == ModuleColumn::kStages) return std::ssize(dump.modules()[at].stages);
  if (column == ModuleColumn::kTime)
    return times == nullptr || (*times)[at] == 0 ? -1 : (*times)[at];
  if (facts == nullptr) return -1;
  switch (column) {
    case ModuleColumn::kBefore:
      return facts->compiled || facts->instructions_before >= 0 ? facts->instructions_before
                                                                : facts->instructions;
    case ModuleColumn::kCompiled:
      return facts->compiled ? facts->instructions : -1;
    case ModuleColumn::kFusions:
      return facts->compiled ? facts->fusions : -1;
    case ModuleColumn::kKernels:
      return facts->kernels > 0 ? facts->kernels : -1;
    case ModuleColumn::kMemory:
      return facts->memory_bytes;
    default:
      return -1;
  }
}

std::vector<int32_t> OrderModules(const dump::DumpModel& dump, const DumpFacts* facts,
                                  const ModuleTimes* times, ModuleColumn by, bool descending,
                                  std::string_view filter) {
  auto facts_of = [&](int32_t m) {
    return facts == nullptr ? nullptr : facts->modules[static_cast<size_t>(m)].get();
  };
  std::vector<int32_t> order = AllModules(dump);
  std::erase_if(order, [&](int32_t m) { return !FitsFilter(dump, m, facts_of(m), filter); });
  const bool is_text = by <= ModuleColumn::kDevice;
  std::vector<std::string> words(is_text ? dump.modules().size() : 0);
  std::vector<int64_t> numbers(dump.modules().size()), bytes(dump.modules().size());
  for (int32_t m : order) {
    const auto at = static_cast<size_t>(m);
    if (is_text) words[at] = WordsIn(dump, m, facts_of(m), by);
    numbers[at] = NumberIn(dump, m, facts_of(m), times, by);
    bytes[at] = CompiledBytes(dump, m);
  }
  std::ranges::stable_sort(order, [&](int32_t left, int32_t right) {
    const auto a = static_cast<size_t>(left), b = static_cast<size_t>(right);
    if (is_text && words[a] != words[b]) return (words[a] < words[b]) != descending;
    if (!is_text && numbers[a] != numbers[b]) {
      const bool is_known = numbers[a] >= 0 && numbers[b] >= 0;
      return is_known ? (numbers[a] < numbers[b]) != descending : numbers[a] > numbers[b];
    }
    return bytes[a] > bytes[b];
  });
  return order;
}

}  // namespace hloscope::viewer
