// The modules that a plane of an XSpace (.xplane.pb) carries: each is the stat "Hlo Proto" of the
// metadata of one event in /host:metadata. Field numbers: profiler/xplane.proto.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace hloscope::hlo {

inline constexpr std::string_view kModulePlane = "/host:metadata";
inline constexpr std::string_view kModuleStat = "Hlo Proto";  // libtpu: "HLO Proto"
inline constexpr std::string_view kProgramStat = "program_id";

struct TraceModule {
  std::string_view name;       // "jit_f(31)", of the program 31
  int64_t program = -1;        // its program_id, or else the id of the metadata
  std::string_view hlo_proto;  // an HloProto
};

// Those of the XPlane in `plane`, as views into it, in their order; none if it is another plane.
std::vector<TraceModule> ModulesOfPlane(std::string_view plane);

}  // namespace hloscope::hlo
