// HloprofWriter: a .hloprof file from a stream of slices, samples, lanes, modules and facts, as
// they come. Takes the memory of one block and of the distinct names; what is on disk can be read
// whenever the writer dies.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "profiler/profile.h"

namespace hloscope::profiler {

// One event; times are picoseconds from the origin.
struct RecordedSlice {
  LaneId lane;
  int64_t start = 0, duration = 0;
  NameId name;
  OperationId operation = {};
};

class HloprofWriter {
 public:
  // Until Finish the file is called PATH.part.
  static Result<std::unique_ptr<HloprofWriter>> Create(const std::string& path);
  ~HloprofWriter();
  HloprofWriter(const HloprofWriter&) = delete;
  HloprofWriter& operator=(const HloprofWriter&) = delete;

  // What time 0 is, in nanoseconds of the clock; before the first slice or sample.
  Status SetOrigin(int64_t origin_ns);

  NameId Name(std::string_view text);
  uint32_t AddGroup(std::string_view name, bool is_device, std::span<const Argument> facts = {});
  LaneId AddLane(uint32_t group, std::string_view name, LaneRole role);
  OperationId AddOperation(const Operation& operation);
  CounterId AddCounter(uint32_t group, std::string_view name, std::string_view unit);

  // In any order of time; near ones in order take the least space. Written when a block is full.
  Status AddSlice(const RecordedSlice& slice, std::span<const Argument> arguments = {});
  Status AddSample(CounterId counter, int64_t time, double value);

  // A module that ran, or only its fingerprint where its bytes are empty.
  Status AddModule(const EmbeddedModule& module);
  // `key` says what is known of the machine and the run: "CPU", "framework".
  Status AddEnvironment(std::string_view key, std::string_view value);
  Status AddHost(std::string_view name);
  Status AddError(std::string_view text);
  Status AddWarning(std::string_view text);

  // All that was added is with the system afterwards.
  Status Flush();
  // Ends the file and gives it its name.
  Status Finish();

 private:
  struct State;
  explicit HloprofWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace hloscope::profiler
