; ModuleID = 'LLVMDialectModule'
source_filename = "LLVMDialectModule"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

; Function Attrs: nounwind
define ptx_kernel void @loop_multiply_fusion_145(ptr noalias nofree align 256 captures(none) dereferenceable(32768) %0, ptr noalias nofree readonly align 256 captures(none) dereferenceable(32768) %1, ptr noalias nofree readonly align 256 captures(none) dereferenceable(32768) %2, ptr noalias nofree readnone align 256 captures(none) dereferenceable(32768) %3) local_unnamed_addr #0 {
  %5 = addrspacecast ptr %2 to ptr addrspace(1)
  %6 = addrspacecast ptr %1 to ptr addrspace(1)
  %7 = addrspacecast ptr %0 to ptr addrspace(1)
  tail call void @llvm.nvvm.griddepcontrol.wait()
  %8 = tail call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x(), !range !2
  %9 = tail call i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !range !3
  %10 = shl nuw nsw i32 %8, 7
  %11 = or disjoint i32 %10, %9
  %12 = zext nneg i32 %11 to i64
  %13 = getelementptr inbounds [4 x i8], ptr addrspace(1) %5, i64 %12
  %14 = load float, ptr addrspace(1) %13, align 4, !invariant.load !0
  %15 = fmul float %14, f0x3A800000
  %16 = getelementptr inbounds [4 x i8], ptr addrspace(1) %6, i64 %12
  %17 = load float, ptr addrspace(1) %16, align 4, !invariant.load !0
  %18 = fadd float %15, f0x358637BD
  %19 = fdiv float %17, %18
  %20 = getelementptr inbounds [4 x i8], ptr addrspace(1) %7, i64 %12
  %21 = load float, ptr addrspace(1) %20, align 4
  %22 = fmul float %19, -5.000000e-01
  %23 = fmul float %21, %22
  %24 = fmul float %23, f0x3A800000
  store float %24, ptr addrspace(1) %20, align 4
  ret void
}

; Function Attrs: nounwind
declare void @llvm.nvvm.griddepcontrol.wait() #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 2147483647) i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #2

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #2

attributes #0 = { nounwind "nvvm.reqntid"="128,1,1" }
attributes #1 = { nounwind }
attributes #2 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }

!llvm.module.flags = !{!1, !4}

!0 = !{}
!1 = !{i32 2, !"Debug Info Version", i32 3}
!2 = !{i32 0, i32 64}
!3 = !{i32 0, i32 128}
!4 = !{i32 4, !"nvvm-reflect-ftz", i32 0}
