// CellSteps: races looked for in all lanes of an access at once, as vectors.
#pragma once

#include <cstdint>

#include "core/ptx/checks/cells.h"

namespace hloscope::ptx {

// An access of a warp to cells of one page, `each` neighbours of every lane. Blocks cannot meet in
// them: all order is that of `known`.
struct CellAccess {
  uint32_t
      cell[kLanes];  // the first of each lane; of lanes that take no part, that of one that does
  uint32_t each = 1;
  uint32_t mask = 0;  // lanes that take part
  Stamp me;           // of lane 0; one more in `who` for each further one
  uint32_t warp = 0;
  uint32_t floor = 0;  // a store that changes nothing is noted where what was written is older
  const uint32_t* known = nullptr;  // Clocks::KnownTo(warp)
};

// What RaceSearch says of an access, for each generation of vector units (VectorUnit). They give
// the lanes that it may collide in: those have to be looked at one by one, and are not noted. The
// others are done.
struct CellSteps {
  uint32_t (*read)(CellPage& page, const CellAccess& access);
  // `changed`: by cell of a lane, the lanes that leave another value there.
  uint32_t (*write)(CellPage& page, const CellAccess& access, const uint32_t* changed);
};

}  // namespace hloscope::ptx
