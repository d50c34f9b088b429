// What a test, or a profiler over this driver, may ask of it beside CUDA's own functions. All are
// found by dlsym in libcuda.so.1. Plain C, so that libraries made otherwise may use it.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum FakeCudaKind {
  kFakeCudaKernel,
  kFakeCudaToDevice,
  kFakeCudaToHost,
  kFakeCudaOnDevice,
  kFakeCudaBetween, /* the memory of two devices, which may be the same */
  kFakeCudaMemset,
  kFakeCudaSynchronization, /* of a stream, an event or the context: the host waited */
};

/* How often warps executed an instruction of a line of the PTX text that was loaded. */
struct FakeCudaLine {
  uint32_t line;
  uint64_t warps;
};

/* Something that the device did. Addresses in it are valid during the call. */
struct FakeCudaActivity {
  enum FakeCudaKind kind;
  uint64_t start_ns, end_ns; /* of the steady clock */
  uint32_t correlation;      /* of the call that asked for it */
  uint32_t device, context, stream;
  uint32_t graph;      /* 0: not of a graph */
  uint64_t graph_node; /* likewise; as it was told when the graph was made ready */
  const char* kernel;  /* NULL: no kernel */
  uint32_t grid[3], block[3];
  uint32_t registers, static_shared_bytes, dynamic_shared_bytes, local_bytes;
  uint64_t bytes;                  /* copied or set */
  uint32_t from_device, to_device; /* of kFakeCudaBetween */
  /* Of kernels: what the simulated GPU counted. */
  uint64_t global_read_bytes, global_written_bytes;
  uint64_t warp_instructions, thread_instructions, tensor_instructions;
  const struct FakeCudaLine* lines; /* in order */
  size_t line_count;
};

/* A function of the driver begins or has ended. */
struct FakeCudaCall {
  const char* function; /* "cuLaunchKernel" */
  int has_ended, result;
  uint32_t correlation; /* counts calls from 1 */
  uint64_t time_ns;
  const char* kernel; /* of launches; NULL otherwise */
};

struct FakeCudaListener {
  void (*call)(void* user, const struct FakeCudaCall* call);             /* NULL: not wanted */
  void (*activity)(void* user, const struct FakeCudaActivity* activity); /* likewise */
  void* user;
  /* A node of a graph was recorded (`original` is 0), or copied when the graph was made ready. */
  void (*node)(void* user, uint64_t node, uint64_t original); /* likewise */
  /* Work is done by the call that asks for it, as where CUPTI reads counters kernel by kernel. */
  int at_once;
};

/* There is one listener; NULL: none. It is called from the thread that calls the driver and may
 * call it itself. */
void fake_cuda_listen(const struct FakeCudaListener* listener);

/* What was made and not given back. */
struct FakeCudaLeft {
  int64_t memory, memory_bytes, pinned, modules, streams, events, graphs, graph_execs, contexts;
};
void fake_cuda_left(struct FakeCudaLeft* left);

/* Launches of kernels so far, in graphs too. */
uint64_t fake_cuda_launches(void);

/* For made-up libraries over the device. Does work(data) where all those streams have come, as a
 * kernel of that name on the first, and again whenever a graph of it is launched; drop(data) once
 * nobody can ask any more. What the driver would say: 0 where it was taken. */
int fake_cuda_submit(void* const* streams, size_t count, const char* name, void (*work)(void* data),
                     void* data, void (*drop)(void* data));
/* The bytes at a device address; NULL: fewer lie there. */
void* fake_cuda_bytes(uint64_t address, size_t bytes);
/* The device that a stream or an address is of; -1: none. */
int fake_cuda_stream_device(void* stream);
int fake_cuda_memory_device(uint64_t address);

/* Forgets calls counted, lost devices and faults, as a new process would; CUDA_FAKE is read again.
 */
void fake_cuda_restart(void);

#ifdef __cplusplus
}
#endif
