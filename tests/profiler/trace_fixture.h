// What tests of traces share: reading bytes as a profile, and events of it in words.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "profiler/attribution.h"
#include "profiler/profile.h"

namespace hloscope::profiler {

inline Result<std::shared_ptr<const Profile>> ReadBytes(std::string bytes) {
  return ReadProfile(FileView::FromBytes("trace", std::move(bytes)), Limits(), SharedJobs(2));
}

// "lane|name|start|duration|operation" of every event, by lane, row and time.
inline std::vector<std::string> EventsOf(const Profile& profile) {
  const EventStore& store = *profile.store;
  std::vector<std::string> events;
  for (uint32_t i = 0; i < store.size(); ++i) {
    const EventId e(i);
    std::string text(store.text(store.lanes()[store.LaneOf(e).index].name));
    text.append("|").append(store.text(store.name(e)));
    text += "|" + std::to_string(store.start(e)) + "|" + std::to_string(store.duration(e));
    if (const OperationId o = store.operation(e); o.valid()) {
      const Operation& operation = store.operations()[o.index];
      text.append("|").append(store.text(operation.module)).append("(");
      text.append(std::to_string(operation.program)).append("):");
      text.append(store.text(operation.name));
    }
    events.push_back(text);
  }
  return events;
}

inline std::vector<std::string> LossesOf(const Profile& profile) {
  std::vector<std::string> losses;
  for (const Loss& loss : profile.losses) {
    losses.push_back(std::to_string(loss.count) + " " + loss.what);
  }
  return losses;
}

}  // namespace hloscope::profiler
