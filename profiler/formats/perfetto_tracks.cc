#include "profiler/formats/perfetto_tracks.h"

#include <algorithm>

#include "core/hlo/proto/wire_reader.h"

namespace hloscope::profiler {
namespace {

using hlo::AsBytes;
using hlo::AsVarint;
using hlo::WireField;
using hlo::WireReader;

PerfettoCounter ReadCounterDescriptor(std::string_view descriptor) {
  static constexpr std::string_view kUnits[] = {"", "ns", "", "bytes"};
  PerfettoCounter counter;
  std::string_view named;
  WireReader reader(descriptor);
  WireField field;
  while (reader.Next(field)) {
    if (field.tag == AsVarint(3) && field.value < std::size(kUnits))
      counter.unit = kUnits[field.value];
    if (field.tag == AsVarint(4)) counter.unit_multiplier = field.AsInt64();
    if (field.tag == AsVarint(5)) counter.counts_on = field.AsBool();
    if (field.tag == AsBytes(6)) named = field.bytes;
  }
  if (!named.empty()) counter.unit = named;
  return counter;
}

}  // namespace

void PerfettoTracks::AddDescriptor(std::string_view descriptor) {
  WireReader reader(descriptor);
  WireField field;
  uint64_t uuid = 0;
  while (reader.Next(field)) {
    if (field.tag == AsVarint(1)) uuid = field.value;
  }
  PerfettoTrack& track = tracks_[IndexOf(uuid)];
  reader = WireReader(descriptor);
  while (reader.Next(field)) {
    switch (field.tag) {
      case AsBytes(2):
      case AsBytes(10):
      case AsBytes(13):
        track.name = field.bytes;
        break;
      case AsBytes(3):
        ReadProcess(field.bytes, track);
        break;
      case AsBytes(4):
        ReadThread(field.bytes, track);
        break;
      case AsVarint(5):
        track.parent = field.value;
        break;
      case AsBytes(8):
        track.counter = ReadCounterDescriptor(field.bytes);
        break;
      case AsVarint(12):
        track.rank = field.AsInt32();
        break;
      case AsBytes(14):
        track.description = field.bytes;
        break;
      case AsVarint(15):
        track.merge = field.value == 2   ? PerfettoTrack::Merge::kNever
                      : field.value == 3 ? PerfettoTrack::Merge::kByKey
                                         : PerfettoTrack::Merge::kByName;
        break;
      case AsBytes(16):
        track.merge_key = field.bytes;
        break;
      case AsVarint(17):
        track.merge_key = std::to_string(field.value);
        break;
      default:
        break;
    }
  }
}

void PerfettoTracks::ReadProcess(std::string_view descriptor, PerfettoTrack& track) {
  int64_t pid = 0, rank = 0;
  std::string_view name, command;
  bool is_device = false;
  WireReader reader(descriptor);
  WireField field;
  while (reader.Next(field)) {
    if (field.tag == AsVarint(1)) pid = field.AsInt32();
    if (field.tag == AsBytes(2) && command.empty()) command = field.bytes;
    if (field.tag == AsVarint(3)) rank = field.AsInt32();
    if (field.tag == AsBytes(6)) name = field.bytes;
    if (field.tag == AsBytes(8)) is_device |= field.bytes == "device";
  }
  track.process = pid;
  Process& process = processes_[pid];
  if (!name.empty() || !command.empty()) process.name = name.empty() ? command : name;
  process.rank = rank;
  process.is_device = is_device || process.name.starts_with("/device:");
}

void PerfettoTracks::ReadThread(std::string_view descriptor, PerfettoTrack& track) {
  WireReader reader(descriptor);
  WireField field;
  while (reader.Next(field)) {
    if (field.tag == AsVarint(1)) track.process = field.AsInt32();
    if (field.tag == AsVarint(2)) track.thread = field.AsInt64();
    if (field.tag == AsVarint(3)) track.rank = field.AsInt32();
    if (field.tag == AsBytes(5)) track.name = field.bytes;
  }
  track.merge = PerfettoTrack::Merge::kNever;
}

void PerfettoTracks::AddThread(uint32_t sequence, std::string_view descriptor) {
  ReadThread(descriptor, tracks_[IndexOfSequence(sequence)]);
}

size_t PerfettoTracks::IndexOf(uint64_t uuid) {
  auto [entry, is_new] = by_uuid_.try_emplace(uuid, tracks_.size());
  if (is_new) tracks_.push_back({.uuid = uuid});
  return entry->second;
}

size_t PerfettoTracks::IndexOfSequence(uint32_t sequence) {
  auto [entry, is_new] = by_sequence_.try_emplace(sequence, tracks_.size());
  if (is_new) {
    tracks_.push_back(
        {.name = "sequence " + std::to_string(sequence), .merge = PerfettoTrack::Merge::kNever});
  }
  return entry->second;
}

uint32_t PerfettoTracks::GroupOfProcess(Process& process) {
  if (!process.group) {
    // Devices come first.
    constexpr int64_t kFar = int64_t{1} << 40;
    const int64_t sort = process.rank - (process.is_device ? kFar : 0);
    process.group = builder_.AddGroup(process.name, process.is_device, sort);
  }
  return *process.group;
}

void PerfettoTracks::AddProcesses() {
  for (auto& [id, process] : processes_) {
    if (!process.name.empty()) GroupOfProcess(process);
  }
}

// The process above a track; else the topmost track above it, by its name.
uint32_t PerfettoTracks::GroupOf(size_t index) {
  size_t top = index;
  for (size_t steps = 0; steps < tracks_.size(); ++steps) {
    const PerfettoTrack& track = tracks_[top];
    if (track.process >= 0) {
      Process& process = processes_[track.process];
      if (process.name.empty()) process.name = "process " + std::to_string(track.process);
      return GroupOfProcess(process);
    }
    auto above = by_uuid_.find(track.parent);
    if (track.parent == 0 || track.parent == track.uuid || above == by_uuid_.end()) break;
    top = above->second;
  }
  const PerfettoTrack& track = tracks_[top];
  const std::string name = top == index || track.name.empty() ? "tracks" : track.name;
  Process& group = named_[name];
  group.name = name;
  group.rank = track.rank;
  group.is_device = name.starts_with("/device:");
  return GroupOfProcess(group);
}

LaneId PerfettoTracks::LaneOf(size_t index) {
  if (tracks_[index].lane) return *tracks_[index].lane;
  const uint32_t group = GroupOf(index);
  PerfettoTrack& track = tracks_[index];
  std::string name = track.name;
  if (name.empty() && track.thread >= 0) name = "thread " + std::to_string(track.thread);
  if (name.empty()) name = "track " + std::to_string(track.uuid);
  const bool is_device = builder_.is_device(group);
  const LaneRole role = RoleNamed(track.description).value_or(RoleOfLine(name, is_device));
  if (track.merge == PerfettoTrack::Merge::kNever) {
    track.lane = builder_.AddLane(group, name, role, track.rank);
    return *track.lane;
  }
  std::string key = std::to_string(track.parent);
  key += track.merge == PerfettoTrack::Merge::kByKey ? "k" + track.merge_key : "n" + name;
  auto [entry, is_new] = merged_.try_emplace({group, key});
  if (is_new) entry->second = builder_.AddLane(group, name, role, track.rank);
  track.lane = entry->second;
  return *track.lane;
}

CounterId PerfettoTracks::CounterOf(size_t index) {
  if (!tracks_[index].counter_id) {
    const uint32_t group = GroupOf(index);
    PerfettoTrack& track = tracks_[index];
    const std::string name =
        track.name.empty() ? "counter " + std::to_string(track.uuid) : track.name;
    track.counter_id =
        builder_.AddCounter(group, name, track.counter ? track.counter->unit : std::string());
  }
  return *tracks_[index].counter_id;
}

}  // namespace hloscope::profiler
