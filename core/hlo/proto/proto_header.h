// What a HloModuleProto says about the whole module.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "core/hlo/proto/proto_reader.h"

namespace hloscope::hlo {

class HeaderReader {
 public:
  explicit HeaderReader(ReadScope& scope) : scope_(scope) {}
  // Takes a field of the module; false for one the header has no place for.
  Result<bool> Take(const WireField& field);
  // After the last field.
  Status Finish();
  // The instruction ids of a computation in the order of its schedule; null where it has none.
  const std::vector<int64_t>* ScheduleOf(int64_t computation_id) const;

 private:
  Status ReadProgramShape(std::string_view bytes);
  Status ReadSchedule(std::string_view bytes);
  Status ReadAliases(std::string_view bytes);
  Status ReadDonors(std::string_view bytes);
  Status ReadDeviceAssignment(std::string_view bytes);
  Status ReadStackFrames(std::string_view bytes);
  ModuleHeader& header() { return scope_.builder.header(); }

  ReadScope& scope_;
  std::unordered_map<int64_t, std::vector<int64_t>> schedule_;
  std::string_view frontend_attributes_, recovery_table_;
};

// The computations in an order where callees come before their callers; an invalid id, or a
// computation that calls itself, directly or through others.
ComputationId CallOrder(const Module& module, std::vector<ComputationId>& order);

}  // namespace hloscope::hlo
