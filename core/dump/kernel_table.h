// The kernels of a module of a dump, gathered from all its files.
#pragma once

#include <memory>

#include "core/base/result.h"
#include "core/dump/dump_model.h"

namespace hloscope::dump {

// What DumpModel::Kernels gives.
Result<std::shared_ptr<const KernelTable>> MakeKernelTable(const DumpModel& model, int32_t module);

}  // namespace hloscope::dump
