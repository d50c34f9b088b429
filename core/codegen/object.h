// WriteObject: the plan of a module as a relocatable object, with its kernels.
#pragma once

#include "core/compile/object_code.h"

namespace hloscope::codegen {

Result<compile::ObjectCode> WriteObject(const compile::Plan& plan,
                                        const compile::ObjectOptions& options);

}  // namespace hloscope::codegen
