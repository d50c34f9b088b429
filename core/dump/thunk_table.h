// The thunk sequence of a module of a dump, tied to its instructions.
#pragma once

#include <memory>

#include "core/base/result.h"
#include "core/dump/dump_model.h"

namespace hloscope::dump {

// What DumpModel::Thunks gives.
Result<std::shared_ptr<const ThunkSequence>> MakeThunkSequence(const DumpModel& model,
                                                               int32_t module);

}  // namespace hloscope::dump
