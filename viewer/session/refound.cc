// Names in one reading of a dump, looked up in another.
#include "viewer/session/refound.h"

#include <algorithm>

namespace hloscope::viewer {
namespace {

template <typename Key, typename Value>
const Value* Known(const std::vector<std::pair<Key, Value>>& all, const Key& key) {
  const auto known = std::ranges::find(all, key, &std::pair<Key, Value>::first);
  return known == all.end() ? nullptr : &known->second;
}

}  // namespace

const Result<Anchor>* Refound::NameOf(const Selection& selection) const {
  return Known(named, selection);
}
const Result<Selection>* Refound::Of(const Anchor& anchor) const { return Known(found, anchor); }
const StageAgain* Refound::Of(const Experiment::Stage& stage) const { return Known(stages, stage); }

const Result<Selection>* Refound::Of(const Selection& selection) const {
  const Result<Anchor>* name = NameOf(selection);
  return name == nullptr || !*name ? nullptr : Of(**name);
}

Refound Seek(const dump::DumpModel& before, const dump::DumpModel& now, const Sought& sought,
             const profiler::EventStore* events) {
  Refound out;
  const auto find = [&](const Anchor& anchor) {
    if (out.Of(anchor) == nullptr) out.found.emplace_back(anchor, Find(now, anchor));
  };
  for (const Selection& selection : sought.selections) {
    if (out.NameOf(selection) != nullptr) continue;
    out.named.emplace_back(selection, AnchorOf(before, selection, events));
    if (const Result<Anchor>& name = out.named.back().second) find(*name);
  }
  for (const Anchor& anchor : sought.anchors) find(anchor);
  for (const Experiment::Stage& stage : sought.stages) {
    out.stages.emplace_back(stage, FindStageAgain(now, stage.first, *stage.second));
  }
  return out;
}

}  // namespace hloscope::viewer
