// SpmdParameterShardings: out of the kept fields of the module.
#include "core/hlo/proto/spmd_shardings.h"

#include <utility>

#include "core/hlo/proto/proto_fields.h"
#include "core/hlo/proto/proto_values.h"
#include "core/hlo/proto/wire_reader.h"

namespace hloscope::hlo {

std::vector<Sharding> SpmdParameterShardings(const Module& module, const Limits& limits) {
  std::vector<Sharding> shardings;
  for (const UnknownFields& fields : module.unknown_fields()) {
    if (fields.kind != MessageKind::kModule) continue;
    WireReader reader(fields.bytes);
    for (WireField field; reader.Next(field);) {
      if (field.tag != AsBytes(ModuleField::kSpmdParametersShardings)) continue;
      Result<Sharding> sharding = ReadSharding(field.bytes, limits);
      if (!sharding) return {};
      shardings.push_back(*std::move(sharding));
    }
  }
  return shardings;
}

}  // namespace hloscope::hlo
