#include "core/dump/trace_modules.h"

#include <utility>

#include "core/hlo/proto/trace_modules.h"
#include "core/hlo/proto/wire_reader.h"

namespace hloscope::dump {

ModuleParts ModulesOfTrace(std::string_view bytes, const Limits& limits) {
  ModuleParts found;
  hlo::WireReader reader(bytes);
  for (hlo::WireField field; reader.Next(field);) {
    // An XSpace has planes and texts only.
    if ((field.tag & 7) != 2 || field.number() > 4) return {};
    if (field.number() != 1) continue;
    for (const hlo::TraceModule& module : hlo::ModulesOfPlane(field.bytes)) {
      if (std::cmp_greater_equal(found.parts.size(), limits.archive_members)) {
        ++found.left_out;
        continue;
      }
      ModulePart part;
      part.begin = static_cast<size_t>(module.hlo_proto.data() - bytes.data());
      part.end = part.begin + module.hlo_proto.size();
      part.kind = FileKind::kHloProto;
      part.name = module.name.substr(0, module.name.find('('));
      found.parts.push_back(std::move(part));
    }
  }
  SetSelectors(found.parts);
  return found;
}

}  // namespace hloscope::dump
