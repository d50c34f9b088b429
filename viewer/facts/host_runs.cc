// Host fallbacks of recorded runs, from the facts in the profile.
#include "viewer/facts/host_runs.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>
#include <unordered_map>

#include "core/debug/run/run_recorder.h"
#include "viewer/model/task_cache.h"

namespace hloscope::viewer {
namespace {

constexpr std::string_view kOfProgram = " of program ";

struct HostRunsKey {
  using Value = HostRuns;
  std::string path;
  const ProfileModel* model = nullptr;
  int32_t module = -1, stage = -1;
  auto operator<=>(const HostRunsKey&) const = default;
};

// Facts by the instruction's name, of one program.
using RunFacts = std::unordered_map<std::string_view, std::string_view>;

RunFacts FactsOf(const profiler::Profile& profile, int64_t program) {
  RunFacts facts;
  for (const auto& [key, value] : profile.environment) {
    if (!key.starts_with(debug::kFallbackFact)) continue;
    const std::string_view rest = std::string_view(key).substr(debug::kFallbackFact.size());
    const size_t end = rest.rfind(kOfProgram);
    if (end == std::string_view::npos) continue;
    int64_t of = -1;
    const std::string_view number = rest.substr(end + kOfProgram.size());
    const auto read = std::from_chars(number.data(), number.data() + number.size(), of);
    if (read.ec == std::errc() && of == program) facts.emplace(rest.substr(0, end), value);
  }
  return facts;
}

// "jit_f on gpu"
std::string TitleOf(const profiler::Profile& profile, int64_t program) {
  const std::string wanted = fmt::format("program {}", program);
  for (const auto& [key, value] : profile.environment) {
    if (key == wanted) return value;
  }
  return wanted;
}

}  // namespace

HostRuns FindHostRuns(const ProfileModel& model, int32_t module, int32_t stage) {
  HostRuns runs;
  for (uint32_t m = 0; m < model.places.size(); ++m) {
    if (module < 0 || model.places[m] != ProfileModel::Place{module, stage}) continue;
    const profiler::AttributedModule& ran = model.attribution->modules()[m];
    const RunFacts facts = FactsOf(*model.profile, ran.program);
    if (facts.empty()) continue;
    const std::string title = TitleOf(*model.profile, ran.program);
    for (uint32_t i = 0; i < ran.module->instructions().size(); ++i) {
      const hlo::InstructionId id(i);
      const auto fact = facts.find(ran.module->name(id));
      if (fact == facts.end()) continue;
      // The opcode is shown next to it.
      std::string_view how = fact->second;
      const std::string opcode = fmt::format("{}: ", hlo::ToString((*ran.module)[id].opcode));
      if (how.starts_with(opcode)) how.remove_prefix(opcode.size());
      std::string& sentence = runs.sentences[i];
      if (!sentence.empty()) sentence += "; ";
      sentence += fmt::format("{} in the run of {}: {}", kRanOnHost, title, how);
    }
  }
  return runs;
}

std::shared_ptr<const HostRuns> HostRunsOf(Context& context, int32_t module, int32_t stage) {
  const Pending<ProfileModel>* model = ProfileOf(context);
  if (model == nullptr || !model->ready()) return nullptr;
  const HostRunsKey key{(*model)->path, model->value.get(), module, stage};
  const Pending<HostRuns>& found = context.cache.Get(
      key, "finding host fallbacks", [model = model->value, module, stage](TaskControl&) {
        return Result<std::shared_ptr<const HostRuns>>(
            std::make_shared<const HostRuns>(FindHostRuns(*model, module, stage)));
      });
  if (!found.ready() || found->sentences.empty()) return nullptr;
  return found.value;
}

}  // namespace hloscope::viewer
