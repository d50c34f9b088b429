// The buffer assignment of a module of a dump, from the best file there is.
#pragma once

#include <memory>

#include "core/base/result.h"
#include "core/dump/dump_model.h"

namespace hloscope::dump {

// What DumpModel::Buffers gives.
Result<std::shared_ptr<const BufferTable>> MakeBufferTable(const DumpModel& model, int32_t module);
// Whether a file of the module says when its values live.
bool HasLiveRanges(const DumpModel& model, int32_t module);

}  // namespace hloscope::dump
