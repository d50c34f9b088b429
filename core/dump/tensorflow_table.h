// The TensorFlow graphs of a dump, one by one and together.
#pragma once

#include <memory>

#include "core/base/result.h"
#include "core/dump/dump_model.h"

namespace hloscope::dump {

// What DumpModel::TensorFlow(file) and TensorFlow() give.
Result<std::shared_ptr<const TensorFlowGraph>> MakeTensorFlowGraph(const DumpModel& model,
                                                                   int32_t file);
std::shared_ptr<const TensorFlowSummary> MakeTensorFlowSummary(const DumpModel& model);

}  // namespace hloscope::dump
