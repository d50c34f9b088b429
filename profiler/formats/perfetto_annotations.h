// Names of a sequence of packets by their numbers, and the annotations of events that use them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "profiler/event_store_builder.h"
#include "profiler/formats/perfetto_packets.h"

namespace hloscope::profiler {

// What the numbers of one sequence mean from one clearing of its state to the next.
struct PerfettoNames {
  std::unordered_map<uint64_t, NameId> events;
  std::unordered_map<uint64_t, std::string> annotations, values;

  // Takes an InternedData.
  void Add(std::string_view interned, EventStoreBuilder& builder);
};

// The instruction that the annotations of a TrackEvent name, if they do.
Operation OperationOfAnnotations(std::string_view event, const PerfettoNames& names,
                                 EventStoreBuilder& builder);

// Reads the annotations of an event again when they are asked for. A place is the number of the
// names it uses, from 1, and the offset of the field that holds it.
class PerfettoArguments : public ArgumentSource {
 public:
  explicit PerfettoArguments(std::shared_ptr<const PerfettoBytes> bytes)
      : bytes_(std::move(bytes)) {}

  // Names that are filled while the trace is read, and their number.
  std::pair<std::shared_ptr<PerfettoNames>, size_t> AddNames() {
    names_.push_back(std::make_shared<PerfettoNames>());
    return {names_.back(), names_.size()};
  }
  // Of the field of a packet that holds an event.
  uint64_t PlaceOf(size_t names, std::string_view event) const;

  std::vector<Argument> Read(uint64_t where) const override;

 private:
  std::shared_ptr<const PerfettoBytes> bytes_;
  std::vector<std::shared_ptr<PerfettoNames>> names_;
};

}  // namespace hloscope::profiler
