// An export of Nsight Systems as nsys 2024 writes it, made with SQLite itself: a process whose
// thread opens NVTX ranges of XLA and launches kernels, copies and a graph.
#pragma once

#include <sqlite3.h>

#include <string>

namespace hloscope::profiler {

// `rounds` launches of three kernels' worth of rows; `more` is SQL that is run behind.
inline std::string NsightExport(int rounds, const std::string& more = {}) {
  sqlite3* db = nullptr;
  sqlite3_open(":memory:", &db);
  std::string sql = R"(
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE TARGET_INFO_GPU (vmId INT, id INT, name TEXT, memoryBandwidth INT, smCount INT);
CREATE TABLE PROCESSES (globalPid INT, pid INT, name TEXT);
CREATE TABLE ThreadNames (nameId INT, priority INT, globalTid INT);
CREATE TABLE NVTX_EVENTS (start INT NOT NULL, end INT, eventType INT NOT NULL, text TEXT, globalTid INT, endGlobalTid INT, textId INT, domainId INT);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, eventClass INT, globalTid INT, correlationId INT, nameId INT, returnValue INT);
CREATE TABLE CUDA_GRAPH_NODE_EVENTS (start INT, end INT, nameId INT, globalTid INT, graphNodeId INT, originalGraphNodeId INT);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, contextId INT, streamId INT, correlationId INT, globalPid INT,
  demangledName INT, shortName INT, registersPerThread INT, gridX INT, blockX INT, graphNodeId INT);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT, end INT, deviceId INT, contextId INT, streamId INT, correlationId INT, globalPid INT, bytes INT, copyKind INT);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INT, end INT, deviceId INT, contextId INT, streamId INT, correlationId INT, globalPid INT, value INT, bytes INT);
INSERT INTO StringIds VALUES (1,'cuLaunchKernel'),(2,'loop_add_fusion_3'),(3,'Thunk:#hlo_op=loop_add_fusion.3#'),
  (4,'XlaModule:#hlo_module=jit_f,program_id=7#'),(5,'main'),(6,'gemm_kernel'),(7,'Thunk:#hlo_op=dot.1#');
INSERT INTO TARGET_INFO_GPU VALUES (0,0,'NVIDIA H100',3352000000000,132);
INSERT INTO PROCESSES VALUES (704374636544,41984,'python');
INSERT INTO ThreadNames VALUES (5,20,704374636555);
INSERT INTO NVTX_EVENTS VALUES (900,NULL,34,'a mark',704374636555,NULL,NULL,0);
BEGIN;)";
  // 704374636544 is process 41984 << 24; its thread is number 11.
  for (int i = 0; i < rounds; ++i) {
    const std::string t = std::to_string(1000 + i * 1000), c = std::to_string(i + 1);
    auto at = [&](int offset) { return std::to_string(1000 + i * 1000 + offset); };
    sql +=
        "INSERT INTO NVTX_EVENTS VALUES (" + t + "," + at(900) + ",59,NULL,704374636555,NULL,4,1);";
    sql += "INSERT INTO NVTX_EVENTS VALUES (" + at(10) + "," + at(100) +
           ",59,NULL,704374636555,NULL,3,1);";
    sql += "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (" + at(20) + "," + at(30) +
           ",0,704374636555," + c + ",1,0);";
    sql += "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (" + at(500) + "," + at(620) + ",0,1,7," +
           c + ",704374636544,2,2,32,16,128,NULL);";
    sql += "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (" + at(700) + "," + at(750) +
           ",0,1,8,0,704374636544,4096,2);";
    sql += "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (" + at(800) + "," + at(810) +
           ",0,2,7,0,704374636544,0,64);";
  }
  sql += R"(
INSERT INTO NVTX_EVENTS VALUES (100,200,59,NULL,704374636555,NULL,7,1);
INSERT INTO CUDA_GRAPH_NODE_EVENTS VALUES (150,160,1,704374636555,99,NULL);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (2000000,2000100,0,1,7,5,704374636544,6,6,32,16,128,99);
COMMIT;)";
  sql += more;
  sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr);
  sqlite3_int64 size = 0;
  unsigned char* data = sqlite3_serialize(db, "main", &size, 0);
  std::string bytes(reinterpret_cast<char*>(data), static_cast<size_t>(size));
  sqlite3_free(data);
  sqlite3_close(db);
  return bytes;
}

}  // namespace hloscope::profiler
