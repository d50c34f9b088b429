#include "profiler/formats/perfetto_clocks.h"

#include <limits>
#include <vector>

#include "core/base/checked.h"
#include "core/hlo/proto/wire_reader.h"

namespace hloscope::profiler {

using hlo::AsBytes;
using hlo::AsVarint;
using hlo::WireField;
using hlo::WireReader;

void PerfettoClocks::AddSnapshot(uint32_t sequence, std::string_view snapshot) {
  struct Reading {
    uint32_t id = 0;
    Clock clock;
  };
  std::vector<Reading> readings;
  WireReader reader(snapshot);
  WireField field, part;
  while (reader.Next(field)) {
    if (field.tag == AsVarint(2)) primary_ = static_cast<uint32_t>(field.value);
    if (field.tag != AsBytes(1)) continue;
    Reading& reading = readings.emplace_back();
    WireReader parts(field.bytes);
    while (parts.Next(part)) {
      if (part.tag == AsVarint(1)) reading.id = static_cast<uint32_t>(part.value);
      if (part.tag == AsVarint(2)) reading.clock.snapshot = part.AsInt64();
      if (part.tag == AsVarint(3)) reading.clock.counts_on = part.AsBool();
      if (part.tag == AsVarint(4) && part.AsInt64() > 0) reading.clock.unit_ns = part.AsInt64();
    }
    reading.clock.value = reading.clock.snapshot;
  }
  const Reading* reference = nullptr;
  for (const Reading& reading : readings) {
    if (reading.id == primary_) reference = &reading;
  }
  for (Reading& reading : readings) {
    if (reading.id == primary_) continue;
    const auto own = CheckedMul(reading.clock.snapshot, reading.clock.unit_ns);
    if (!own) continue;
    reading.clock.reference = reference != nullptr ? reference->clock.snapshot : *own;
    clocks_[KeyOf(sequence, reading.id)] = reading.clock;
  }
}

std::optional<int64_t> PerfettoClocks::Nanoseconds(uint32_t sequence, uint32_t clock,
                                                   uint64_t timestamp) {
  if (timestamp > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
  const auto stated = static_cast<int64_t>(timestamp);
  if (clock == 0 || clock == primary_) return stated;
  auto found = clocks_.find(KeyOf(sequence, clock));
  if (found == clocks_.end()) return std::nullopt;
  Clock& known = found->second;
  std::optional<int64_t> value = stated;
  if (known.counts_on) {
    value = CheckedAdd(known.value, stated);
    if (!value) return std::nullopt;
    known.value = *value;
  }
  value = CheckedSub(*value, known.snapshot);
  if (value) value = CheckedMul(*value, known.unit_ns);
  return value ? CheckedAdd(*value, known.reference) : std::nullopt;
}

}  // namespace hloscope::profiler
