// Stages of the form "A (12 instructions, names 0123456789abcdef) from B (…)", then "  KIND AFTER
// BEFORE COUNT".
#include <fmt/format.h>

#include <algorithm>

#include "core/dump/readers/line_reader.h"
#include "core/dump/readers/provenance.h"
#include "core/hlo/rewrite/named_order.h"

namespace hloscope::dump {
namespace {

using hlo::InstructionId;

constexpr std::string_view kTitle = "Provenance of ";
constexpr int64_t kMaxInstructions = 1'000'000'000;
// Origins for each instruction of both stages, in the mean.
constexpr uint64_t kMaxOrigins = 64;

bool TakeCount(std::string_view& line, uint32_t& count) {
  const std::optional<int64_t> number = TakeNumber(line);
  if (!number || *number < 0 || *number > kMaxInstructions) return false;
  count = static_cast<uint32_t>(*number);
  return true;
}

// "NAME (12 instructions, names 0123456789abcdef)" and `end`.
bool TakeStage(std::string_view& line, std::string_view end, std::string& name,
               hlo::ModuleMark& mark) {
  constexpr std::string_view kOpen = " (", kNames = " instructions, names ", kClose = ")";
  constexpr size_t kDigits = 16;
  const size_t open = line.find(kOpen);
  if (open == 0 || open == std::string_view::npos) return false;
  name = line.substr(0, open);
  line.remove_prefix(open + kOpen.size());
  if (!TakeCount(line, mark.instructions) || !TakeWord(line, kNames) || line.size() < kDigits) {
    return false;
  }
  const auto [last, error] =
      std::from_chars(line.data(), line.data() + kDigits, mark.names, /*base=*/16);
  if (error != std::errc() || last != line.data() + kDigits) return false;
  line.remove_prefix(kDigits);
  return TakeWord(line, kClose) && TakeWord(line, end);
}

std::optional<StageProvenance> StageOf(std::string_view line) {
  StageProvenance stage;
  if (!TakeStage(line, " from ", stage.after, stage.after_mark) ||
      !TakeStage(line, "", stage.before, stage.before_mark) || !line.empty()) {
    return std::nullopt;
  }
  return stage;
}

bool AddRun(std::string_view line, StageProvenance& stage) {
  line = TrimStart(line);
  const size_t space = std::min(line.find(' '), line.size());
  const auto* word = std::ranges::find(hlo::kOriginWords, line.substr(0, space));
  if (word == std::end(hlo::kOriginWords)) return false;
  line.remove_prefix(space);
  OriginRun run;
  run.kind = static_cast<hlo::OriginKind>(word - std::begin(hlo::kOriginWords));
  for (uint32_t* number : {&run.after, &run.before, &run.count}) {
    if (!TakeWord(line, " ") || !TakeCount(line, *number)) return false;
  }
  if (!line.empty() || run.after + run.count > stage.after_mark.instructions ||
      run.before + run.count > stage.before_mark.instructions) {
    return false;
  }
  stage.runs.push_back(run);
  return true;
}

std::optional<std::vector<hlo::Origin>> OriginsOf(const StageProvenance& stage) {
  const uint64_t most =
      kMaxOrigins * (uint64_t{stage.before_mark.instructions} + stage.after_mark.instructions);
  std::vector<hlo::Origin> origins;
  for (const OriginRun& run : stage.runs) {
    if (origins.size() + run.count > most) return std::nullopt;
    for (uint32_t k = 0; k < run.count; ++k) {
      origins.push_back({InstructionId(run.before + k), InstructionId(run.after + k), run.kind});
    }
  }
  hlo::SortOrigins(origins);
  return origins;
}

}  // namespace

Result<std::vector<StageProvenance>> ReadProvenance(std::string_view text) {
  std::vector<StageProvenance> stages;
  LineReader reader(text);
  std::string_view line;
  // The title, and what the lines mean.
  if (!reader.Next(line) || !line.starts_with(kTitle) || !reader.Next(line)) {
    return InputError("this is not a provenance file of hloscope's compiler",
                      "compile the module again with --dump");
  }
  while (reader.Next(line)) {
    if (line.empty()) continue;
    bool fits = false;
    if (line.front() != ' ') {
      std::optional<StageProvenance> stage = StageOf(line);
      fits = stage.has_value();
      if (fits) stages.push_back(*std::move(stage));
    } else {
      fits = !stages.empty() && AddRun(line, stages.back());
    }
    if (fits) continue;
    return std::unexpected(
        Error{ErrorClass::kInput,
              fmt::format("neither a stage nor positions of it: `{}`", line.substr(0, 80)),
              {.file = {}, .line = static_cast<uint32_t>(reader.number())},
              "compile the module again with --dump"});
  }
  return stages;
}

std::optional<std::vector<hlo::Origin>> OriginsBetween(std::span<const StageProvenance> stages,
                                                       StageModule before, StageModule after) {
  std::optional<std::vector<hlo::Origin>> all;
  hlo::ModuleMark mark = hlo::MarkOf(after.module);
  std::string_view at = after.name;
  for (size_t k = stages.size(); k-- > 0 && at != before.name;) {
    const StageProvenance& stage = stages[k];
    if (stage.after != at) continue;
    if (stage.after_mark != mark) return std::nullopt;
    std::optional<std::vector<hlo::Origin>> step = OriginsOf(stage);
    if (!step) return std::nullopt;
    all = all ? hlo::ComposeOrigins(*step, *all) : std::move(step);
    at = stage.before;
    mark = stage.before_mark;
  }
  const bool fits = at == before.name && mark == hlo::MarkOf(before.module);
  if (!fits || !all) return std::nullopt;
  return hlo::Renumbered(*std::move(all), hlo::ByName(before.module), hlo::ByName(after.module));
}

}  // namespace hloscope::dump
