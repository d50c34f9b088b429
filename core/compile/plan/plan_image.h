// A plan as bytes, for another process of the same build that has the module too.
#pragma once

#include "core/base/byte_archive.h"
#include "core/compile/plan/plan.h"

namespace hloscope::compile {

// All but the module.
void Archive(ByteWriter& out, const Plan& plan);
// Fails the archive where a number leads nowhere in the plan or in plan.module, which is there
// already.
void Archive(ByteReader& in, Plan& plan);

// Whether every number of a plan, which may be anybody's, leads to something in it or its module.
bool LeadsInside(const Plan& plan);

}  // namespace hloscope::compile
