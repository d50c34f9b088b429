// Pins: taken from runs, kept as JSON.
#include "viewer/lab/pins.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/parse_json.h"
#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/experiment.h"
#include "viewer/model/number_text.h"
#include "viewer/model/task_cache.h"

namespace hloscope::viewer {
namespace {

using nlohmann::json;

constexpr size_t kMaxPins = 200;     // that are read back
constexpr int64_t kFirstPinned = 4;  // elements that a row has room for

// Every text of a side and of a pin with its name in the session.
constexpr std::pair<const char*, std::string PinnedSide::*> kSideFields[] = {
    {"platform", &PinnedSide::platform}, {"first", &PinnedSide::first},
    {"least", &PinnedSide::least},       {"largest", &PinnedSide::largest},
    {"mean", &PinnedSide::mean},         {"nans", &PinnedSide::nans}};
constexpr std::pair<const char*, std::string Pin::*> kPinFields[] = {
    {"module", &Pin::module},
    {"stage", &Pin::stage},
    {"computation", &Pin::computation},
    {"instruction", &Pin::instruction},
    {"shape", &Pin::shape},
    {"verdict", &Pin::verdict},
    {"largest_error", &Pin::largest_error},
    {"inputs", &Pin::inputs}};
constexpr std::pair<const char*, std::vector<PinnedSide> Pin::*> kSideLists[] = {
    {"sides", &Pin::sides}, {"before", &Pin::before}};

template <typename T, size_t n>
void TakeFields(const json& from, const std::pair<const char*, std::string T::*> (&fields)[n],
                T& to) {
  for (const auto& [name, member] : fields) {
    if (from.contains(name) && from[name].is_string())
      to.*member = from[name].template get<std::string>();
  }
}

PinnedSide SideOf(std::string platform, const replay::ValueStatistics& values,
                  hlo::ElementType type) {
  PinnedSide side{.platform = std::move(platform),
                  .first = FirstElementsText(values, type, kFirstPinned)};
  if (values.elements - values.nans - values.infinities > 0) {
    side.least = NumberText(values.low);
    side.largest = NumberText(values.high);
    side.mean = NumberText(values.mean);
  }
  side.nans = SomeText(values.nans);
  return side;
}

// Of the first leaf that is an array: what a row has room for.
void TakeValues(const hlo::Shape& shape, const KnownValues& known, Pin& pin) {
  pin.sides.clear();
  const auto leaves = shape.Leaves();
  const auto array =
      std::ranges::find_if(leaves, [](const auto& leaf) { return leaf.second->IsArray(); });
  if (array == leaves.end()) return;
  const auto leaf = static_cast<size_t>(array - leaves.begin());
  const hlo::ElementType type = array->second->element_type();
  for (const auto& [platform, values] : {std::pair(&known.platform, &known.held.platform),
                                         std::pair(&known.reference, &known.held.reference)}) {
    if (leaf < values->size()) pin.sides.push_back(SideOf(*platform, (*values)[leaf], type));
  }
}

void TakeDifference(const Context& context, const Selection& at, Pin& pin) {
  pin.verdict.clear();
  pin.largest_error.clear();
  const ExperimentRequest& request = context.experiment.request();
  const bool is_last = request.module_index == at.module && request.stage == at.stage;
  const Finding* finding = is_last ? context.experiment.Of(at.instruction) : nullptr;
  if (finding == nullptr) return;
  pin.verdict = ToString(finding->verdict);
  pin.largest_error = ErrorText(finding->max_abs_error);
}

hlo::InstructionId InstructionNamed(const hlo::Module& module, const Pin& pin) {
  for (uint32_t i = 0; i < module.instructions().size(); ++i) {
    const hlo::InstructionId id(i);
    if (module.name(id) != pin.instruction) continue;
    if (module[module[module[id].computation].name] == pin.computation) return id;
  }
  return {};
}

// What the last run found, where the pin has not seen it.
void TakeRun(Context& context, const Selection& at, const hlo::Module& module, Pin& pin) {
  pin.looked = context.experiment.runs() + 1;
  const auto known = KnownValuesOf(context, at.module, at.stage, module, at.instruction);
  if (!known) return;
  const bool is_seen = known->run == 0 ? !pin.sides.empty() : known->run == pin.run;
  if (is_seen) return;  // a constant stays what it is
  std::vector<PinnedSide> old = std::move(pin.sides);
  TakeValues(module.shape(at.instruction), *known, pin);
  TakeDifference(context, at, pin);
  if (old != pin.sides) {
    pin.before = std::move(old);
  } else if (pin.run != 0) {
    pin.before.clear();  // the run before gave the same
  }
  pin.inputs = known->inputs;
  pin.run = known->run;
}

struct PlaceKey {
  using Value = Selection;
  std::string module, stage, computation, instruction;
  auto operator<=>(const PlaceKey&) const = default;
};

Result<Selection> FindPlace(const dump::DumpModel& dump, const Pin& pin) {
  for (size_t m = 0; m < dump.modules().size(); ++m) {
    const dump::ModuleEntry& entry = dump.modules()[m];
    for (size_t s = 0; entry.name == pin.module && s < entry.stages.size(); ++s) {
      if (entry.stages[s].name != pin.stage) continue;
      const auto module = static_cast<int32_t>(m), stage = static_cast<int32_t>(s);
      HLOSCOPE_ASSIGN_OR_RETURN(const auto read, dump.Module(module, stage));
      const hlo::InstructionId id = InstructionNamed(*read, pin);
      if (id.valid()) return Selection::OfInstruction(module, stage, id);
    }
  }
  return Selection();
}

}  // namespace

bool Pin::IsOf(const Pin& other) const {
  return module == other.module && stage == other.stage && computation == other.computation &&
         instruction == other.instruction;
}

std::optional<Pin> PinOf(Context& context, const Selection& selection) {
  const bool is_one = context.document.dump().ready() && selection.module >= 0 &&
                      selection.stage >= 0 && selection.instruction.valid();
  if (!is_one) return std::nullopt;
  const Pending<hlo::Module>& read = context.data.Module(selection.module, selection.stage);
  if (!read.ready() || selection.instruction.index >= read->instructions().size()) {
    return std::nullopt;
  }
  const dump::ModuleEntry& entry =
      context.document.dump()->modules()[static_cast<size_t>(selection.module)];
  const hlo::InstructionId id = selection.instruction;
  Pin pin;
  pin.module = entry.name;
  pin.stage = entry.stages[static_cast<size_t>(selection.stage)].name;
  pin.computation = (*read)[(*read)[(*read)[id].computation].name];
  pin.instruction = read->name(id);
  pin.shape = hlo::ToString(read->shape(id), false);
  TakeRun(context, selection, *read, pin);
  return pin;
}

Selection PlaceOfPin(Context& context, const Pin& pin) {
  if (!context.document.dump().ready()) return {};
  const Pending<Selection>& place = context.cache.Get(
      PlaceKey{pin.module, pin.stage, pin.computation, pin.instruction}, "resolving pins",
      [dump = context.document.dump().value, pin](TaskControl&) -> Computed<Selection> {
        HLOSCOPE_ASSIGN_OR_RETURN(Selection found, FindPlace(*dump, pin));
        return std::make_shared<const Selection>(std::move(found));
      });
  return place.ready() ? *place : Selection();
}

void UpdatePins(Context& context, std::vector<Pin>& pins) {
  for (Pin& pin : pins) {
    if (pin.looked == context.experiment.runs() + 1) continue;
    const Selection at = PlaceOfPin(context, pin);
    if (at.kind != SelectionKind::kInstruction) continue;
    const Pending<hlo::Module>& read = context.data.Module(at.module, at.stage);
    if (read.ready()) TakeRun(context, at, *read, pin);
  }
}

std::string PinsText(const std::vector<Pin>& pins) {
  if (pins.empty()) return {};
  json all = json::array();
  for (const Pin& pin : pins) {
    json row;
    for (const auto& [name, member] : kPinFields) row[name] = pin.*member;
    for (const auto& [name, member] : kSideLists) {
      row[name] = json::array();
      for (const PinnedSide& side : pin.*member) {
        json one;
        for (const auto& [field, text] : kSideFields) one[field] = side.*text;
        row[name].push_back(std::move(one));
      }
    }
    all.push_back(std::move(row));
  }
  return all.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::vector<Pin> PinsFromText(std::string_view text) {
  std::vector<Pin> pins;
  const json all = ParseJson(text).value_or(nullptr);
  if (!all.is_array()) return pins;
  for (const json& row : all) {
    if (!row.is_object() || pins.size() >= kMaxPins) continue;
    Pin pin;
    TakeFields(row, kPinFields, pin);
    for (const auto& [name, member] : kSideLists) {
      if (!row.contains(name) || !row[name].is_array()) continue;
      for (const json& one : row[name]) {
        if (!one.is_object() || (pin.*member).size() >= 2) continue;
        TakeFields(one, kSideFields, (pin.*member).emplace_back());
      }
    }
    if (!pin.instruction.empty()) pins.push_back(std::move(pin));
  }
  return pins;
}

}  // namespace hloscope::viewer
