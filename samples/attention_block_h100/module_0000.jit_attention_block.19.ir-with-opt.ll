; ModuleID = 'LLVMDialectModule'
source_filename = "LLVMDialectModule"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

@global_smem = external addrspace(3) global [0 x i8], align 16

; Function Attrs: convergent nocallback nofree nounwind memory(none)
declare { float, float, float, float } @llvm.nvvm.mma.m16n8k8.row.col.tf32(i32, i32, i32, i32, i32, i32, float, float, float, float) #0

; Function Attrs: nounwind
declare void @llvm.nvvm.griddepcontrol.wait() #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 2147483647) i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #2

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #2

; Function Attrs: convergent nocallback nounwind memory(argmem: write)
declare void @llvm.nvvm.stmatrix.sync.aligned.m8n8.x2.b16.p3(ptr addrspace(3) writeonly captures(none), i32, i32) #3

; Function Attrs: convergent nocallback nounwind
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) #4

; Function Attrs: convergent nocallback nofree nounwind memory(argmem: read)
declare { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) readonly captures(none)) #5

; Function Attrs: nounwind
declare void @llvm.nvvm.griddepcontrol.launch.dependents() #1

; Function Attrs: convergent nocallback nounwind memory(argmem: write)
declare void @llvm.nvvm.stmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) writeonly captures(none), i32, i32, i32, i32) #3

; Function Attrs: convergent nocallback nofree nounwind memory(argmem: read)
declare { i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.b16.p3(ptr addrspace(3) readonly captures(none)) #5

; Function Attrs: nounwind
define ptx_kernel void @gemm_fusion_dot_1(ptr noalias align 16 dereferenceable(3072) %arg0, ptr noalias align 16 dereferenceable(3072) %arg1, ptr noalias align 16 dereferenceable(4096) %arg2, ptr noalias align 16 dereferenceable(3072) %arg3) local_unnamed_addr #6 {
  %1 = addrspacecast ptr %arg0 to ptr addrspace(1)
  %2 = addrspacecast ptr %arg1 to ptr addrspace(1)
  %3 = addrspacecast ptr %arg2 to ptr addrspace(1)
  %4 = addrspacecast ptr %arg3 to ptr addrspace(1)
  tail call void @llvm.nvvm.griddepcontrol.wait()
  %5 = tail call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %6 = zext nneg i32 %5 to i64
  %7 = lshr i64 %6, 2
  %8 = shl nuw nsw i64 %7, 4
  %9 = shl nuw nsw i64 %6, 3
  %10 = and i64 %9, 24
  %11 = tail call range(i32 0, 64) i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %12 = lshr i32 %11, 2
  %13 = and i32 %11, 3
  %14 = shl nuw nsw i32 %13, 2
  %15 = zext nneg i32 %12 to i64
  %16 = zext nneg i32 %14 to i64
  %17 = sub nsw i64 24, %8
  %18 = icmp sgt i64 %17, %15
  %19 = shl nuw nsw i64 %15, 5
  %20 = shl nuw nsw i32 %13, 1
  %21 = zext nneg i32 %20 to i64
  %22 = or disjoint i64 %19, %21
  %23 = shl nuw nsw i64 %7, 9
  %24 = or disjoint i64 %10, %23
  %25 = getelementptr [4 x i8], ptr addrspace(1) %1, i64 %24
  %26 = getelementptr [4 x i8], ptr addrspace(1) %25, i64 %22
  %27 = tail call { i32, i32 } asm sideeffect "mov.u32 $0, $2;\0A\09mov.u32 $1, $3;\0A\09@$5 ld.global.v2.b32 { $0, $1 }, [ $4 + 0 ];", "=r,=r,r,r,l,b"(i32 0, i32 0, ptr addrspace(1) %26, i1 %18) #1
  %28 = extractvalue { i32, i32 } %27, 0
  %29 = extractvalue { i32, i32 } %27, 1
  %30 = lshr i32 %11, 1
  %31 = or i32 %30, %11
  %32 = shl nuw nsw i32 %11, 4
  %33 = and i32 %32, 112
  %34 = shl nuw nsw i32 %11, 5
  %35 = and i32 %34, 256
  %36 = shl nuw nsw i32 %31, 3
  %37 = and i32 %36, 128
  %38 = or disjoint i32 %33, %35
  %39 = or disjoint i32 %37, %38
  %40 = zext nneg i32 %39 to i64
  %41 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %40
  tail call void @llvm.nvvm.stmatrix.sync.aligned.m8n8.x2.b16.p3(ptr addrspace(3) %41, i32 %28, i32 %29)
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %42 = and i32 %11, 16
  %43 = shl nuw nsw i32 %42, 3
  %44 = or disjoint i32 %38, %43
  %45 = zext nneg i32 %44 to i64
  %46 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %45
  %47 = tail call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %46)
  %invariant.gep = getelementptr [4 x i8], ptr addrspace(1) %2, i64 %23
  %invariant.gep2 = getelementptr [4 x i8], ptr addrspace(1) %invariant.gep, i64 %19
  %invariant.gep4 = getelementptr [4 x i8], ptr addrspace(1) %invariant.gep2, i64 %16
  %48 = shl nuw nsw i32 %11, 1
  %49 = and i32 %48, 48
  %50 = xor i32 %49, %32
  %51 = zext nneg i32 %50 to i64
  %52 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %51
  %53 = shl nuw nsw i32 %11, 6
  %54 = and i32 %53, 960
  %55 = shl nuw nsw i32 %11, 3
  %56 = and i32 %55, 48
  %57 = xor i32 %56, %42
  %58 = or disjoint i32 %57, %54
  %59 = zext nneg i32 %58 to i64
  %60 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %59
  %61 = xor i32 %58, 32
  %62 = zext nneg i32 %61 to i64
  %63 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %62
  %64 = getelementptr [4 x i8], ptr addrspace(1) %3, i64 %10
  %invariant.gep5 = getelementptr [4 x i8], ptr addrspace(1) %64, i64 %22
  %65 = zext nneg i32 %55 to i64
  %66 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %65
  %67 = shl nuw nsw i32 %13, 5
  %68 = and i32 %11, 28
  %69 = or disjoint i32 %67, %68
  %70 = zext nneg i32 %69 to i64
  %71 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %70
  %72 = getelementptr inbounds nuw i8, ptr addrspace(3) %71, i64 128
  %73 = getelementptr inbounds nuw i8, ptr addrspace(3) %71, i64 256
  %74 = getelementptr inbounds nuw i8, ptr addrspace(3) %71, i64 384
  %75 = tail call { i32, i32, i32, i32 } asm sideeffect "mov.u32 $0, $4;\0A\09mov.u32 $1, $5;\0A\09mov.u32 $2, $6;\0A\09mov.u32 $3, $7;\0A\09@$9 ld.global.v4.b32 { $0, $1, $2, $3 }, [ $8 + 0 ];", "=r,=r,=r,=r,r,r,r,r,l,b"(i32 0, i32 0, i32 0, i32 0, ptr addrspace(1) %invariant.gep4, i1 %18) #1
  %76 = extractvalue { i32, i32, i32, i32 } %75, 0
  %77 = extractvalue { i32, i32, i32, i32 } %75, 1
  %78 = extractvalue { i32, i32, i32, i32 } %75, 2
  %79 = extractvalue { i32, i32, i32, i32 } %75, 3
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %80 = insertelement <4 x i32> poison, i32 %76, i64 0
  %81 = insertelement <4 x i32> %80, i32 %77, i64 1
  %82 = insertelement <4 x i32> %81, i32 %78, i64 2
  %83 = insertelement <4 x i32> %82, i32 %79, i64 3
  store <4 x i32> %83, ptr addrspace(3) %52, align 16
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %84 = tail call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %60)
  %85 = extractvalue { i32, i32, i32, i32 } %84, 0
  %86 = extractvalue { i32, i32, i32, i32 } %84, 1
  %87 = extractvalue { i32, i32, i32, i32 } %84, 2
  %88 = extractvalue { i32, i32, i32, i32 } %84, 3
  %89 = bitcast i32 %85 to float
  %90 = bitcast i32 %86 to float
  %91 = bitcast i32 %87 to float
  %92 = bitcast i32 %88 to float
  %93 = tail call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %63)
  %94 = extractvalue { i32, i32, i32, i32 } %93, 0
  %95 = extractvalue { i32, i32, i32, i32 } %93, 1
  %96 = extractvalue { i32, i32, i32, i32 } %93, 2
  %97 = extractvalue { i32, i32, i32, i32 } %93, 3
  %98 = bitcast i32 %94 to float
  %99 = bitcast i32 %95 to float
  %100 = bitcast i32 %96 to float
  %101 = bitcast i32 %97 to float
  %102 = tail call { i32, i32 } asm sideeffect "mov.u32 $0, 0x0;\0A\09mov.u32 $1, 0x0;\0A\09ld.global.v2.b32 { $0, $1 }, [ $2 + 0 ];", "=r,=r,l"(ptr addrspace(1) %invariant.gep5) #1
  %103 = extractvalue { i32, i32 } %102, 0
  %104 = extractvalue { i32, i32 } %102, 1
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %105 = insertelement <2 x i32> poison, i32 %103, i64 0
  %106 = insertelement <2 x i32> %105, i32 %104, i64 1
  store <2 x i32> %106, ptr addrspace(3) %66, align 8
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %107 = load float, ptr addrspace(3) %71, align 4
  %108 = load float, ptr addrspace(3) %72, align 4
  %109 = load float, ptr addrspace(3) %73, align 4
  %110 = load float, ptr addrspace(3) %74, align 4
  %111 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %89) #1
  %112 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %90) #1
  %113 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %91) #1
  %114 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %92) #1
  %115 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %98) #1
  %116 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %99) #1
  %117 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %100) #1
  %118 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %101) #1
  %119 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %107) #1
  %120 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %108) #1
  %121 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %109) #1
  %122 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %110) #1
  %123 = bitcast float %111 to i32
  %124 = bitcast float %112 to i32
  %125 = bitcast float %113 to i32
  %126 = bitcast float %114 to i32
  %127 = bitcast float %115 to i32
  %128 = bitcast float %116 to i32
  %129 = bitcast float %117 to i32
  %130 = bitcast float %118 to i32
  %131 = bitcast float %119 to i32
  %132 = bitcast float %120 to i32
  %133 = bitcast float %121 to i32
  %134 = bitcast float %122 to i32
  %135 = tail call { float, float, float, float } @llvm.nvvm.mma.m16n8k8.row.col.tf32(i32 %123, i32 %124, i32 %125, i32 %126, i32 %131, i32 %132, float 0.000000e+00, float 0.000000e+00, float 0.000000e+00, float 0.000000e+00)
  %136 = extractvalue { float, float, float, float } %135, 0
  %137 = extractvalue { float, float, float, float } %135, 1
  %138 = extractvalue { float, float, float, float } %135, 2
  %139 = extractvalue { float, float, float, float } %135, 3
  %140 = tail call { float, float, float, float } @llvm.nvvm.mma.m16n8k8.row.col.tf32(i32 %127, i32 %128, i32 %129, i32 %130, i32 %133, i32 %134, float %136, float %137, float %138, float %139)
  %141 = extractvalue { float, float, float, float } %140, 0
  %142 = extractvalue { float, float, float, float } %140, 1
  %143 = extractvalue { float, float, float, float } %140, 2
  %144 = extractvalue { float, float, float, float } %140, 3
  %gep.1 = getelementptr i8, ptr addrspace(1) %invariant.gep4, i64 64
  %145 = tail call { i32, i32, i32, i32 } asm sideeffect "mov.u32 $0, $4;\0A\09mov.u32 $1, $5;\0A\09mov.u32 $2, $6;\0A\09mov.u32 $3, $7;\0A\09@$9 ld.global.v4.b32 { $0, $1, $2, $3 }, [ $8 + 0 ];", "=r,=r,=r,=r,r,r,r,r,l,b"(i32 0, i32 0, i32 0, i32 0, ptr addrspace(1) %gep.1, i1 %18) #1
  %146 = extractvalue { i32, i32, i32, i32 } %145, 0
  %147 = extractvalue { i32, i32, i32, i32 } %145, 1
  %148 = extractvalue { i32, i32, i32, i32 } %145, 2
  %149 = extractvalue { i32, i32, i32, i32 } %145, 3
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %150 = insertelement <4 x i32> poison, i32 %146, i64 0
  %151 = insertelement <4 x i32> %150, i32 %147, i64 1
  %152 = insertelement <4 x i32> %151, i32 %148, i64 2
  %153 = insertelement <4 x i32> %152, i32 %149, i64 3
  store <4 x i32> %153, ptr addrspace(3) %52, align 16
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %154 = tail call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %60)
  %155 = extractvalue { i32, i32, i32, i32 } %154, 0
  %156 = extractvalue { i32, i32, i32, i32 } %154, 1
  %157 = extractvalue { i32, i32, i32, i32 } %154, 2
  %158 = extractvalue { i32, i32, i32, i32 } %154, 3
  %159 = bitcast i32 %155 to float
  %160 = bitcast i32 %156 to float
  %161 = bitcast i32 %157 to float
  %162 = bitcast i32 %158 to float
  %163 = tail call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %63)
  %164 = extractvalue { i32, i32, i32, i32 } %163, 0
  %165 = extractvalue { i32, i32, i32, i32 } %163, 1
  %166 = extractvalue { i32, i32, i32, i32 } %163, 2
  %167 = extractvalue { i32, i32, i32, i32 } %163, 3
  %168 = bitcast i32 %164 to float
  %169 = bitcast i32 %165 to float
  %170 = bitcast i32 %166 to float
  %171 = bitcast i32 %167 to float
  %gep6.1 = getelementptr i8, ptr addrspace(1) %invariant.gep5, i64 2048
  %172 = tail call { i32, i32 } asm sideeffect "mov.u32 $0, 0x0;\0A\09mov.u32 $1, 0x0;\0A\09ld.global.v2.b32 { $0, $1 }, [ $2 + 0 ];", "=r,=r,l"(ptr addrspace(1) %gep6.1) #1
  %173 = extractvalue { i32, i32 } %172, 0
  %174 = extractvalue { i32, i32 } %172, 1
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %175 = insertelement <2 x i32> poison, i32 %173, i64 0
  %176 = insertelement <2 x i32> %175, i32 %174, i64 1
  store <2 x i32> %176, ptr addrspace(3) %66, align 8
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %177 = load float, ptr addrspace(3) %71, align 4
  %178 = load float, ptr addrspace(3) %72, align 4
  %179 = load float, ptr addrspace(3) %73, align 4
  %180 = load float, ptr addrspace(3) %74, align 4
  %181 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %159) #1
  %182 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %160) #1
  %183 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %161) #1
  %184 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %162) #1
  %185 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %168) #1
  %186 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %169) #1
  %187 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %170) #1
  %188 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %171) #1
  %189 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %177) #1
  %190 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %178) #1
  %191 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %179) #1
  %192 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %180) #1
  %193 = bitcast float %181 to i32
  %194 = bitcast float %182 to i32
  %195 = bitcast float %183 to i32
  %196 = bitcast float %184 to i32
  %197 = bitcast float %185 to i32
  %198 = bitcast float %186 to i32
  %199 = bitcast float %187 to i32
  %200 = bitcast float %188 to i32
  %201 = bitcast float %189 to i32
  %202 = bitcast float %190 to i32
  %203 = bitcast float %191 to i32
  %204 = bitcast float %192 to i32
  %205 = tail call { float, float, float, float } @llvm.nvvm.mma.m16n8k8.row.col.tf32(i32 %193, i32 %194, i32 %195, i32 %196, i32 %201, i32 %202, float %141, float %142, float %143, float %144)
  %206 = extractvalue { float, float, float, float } %205, 0
  %207 = extractvalue { float, float, float, float } %205, 1
  %208 = extractvalue { float, float, float, float } %205, 2
  %209 = extractvalue { float, float, float, float } %205, 3
  %210 = tail call { float, float, float, float } @llvm.nvvm.mma.m16n8k8.row.col.tf32(i32 %197, i32 %198, i32 %199, i32 %200, i32 %203, i32 %204, float %206, float %207, float %208, float %209)
  %211 = extractvalue { float, float, float, float } %210, 0
  %212 = extractvalue { float, float, float, float } %210, 1
  %213 = extractvalue { float, float, float, float } %210, 2
  %214 = extractvalue { float, float, float, float } %210, 3
  %215 = extractvalue { i32, i32, i32, i32 } %47, 3
  %216 = bitcast i32 %215 to float
  %217 = extractvalue { i32, i32, i32, i32 } %47, 2
  %218 = bitcast i32 %217 to float
  %219 = extractvalue { i32, i32, i32, i32 } %47, 1
  %220 = bitcast i32 %219 to float
  %221 = extractvalue { i32, i32, i32, i32 } %47, 0
  %222 = bitcast i32 %221 to float
  tail call void @llvm.nvvm.griddepcontrol.launch.dependents()
  %223 = fadd float %211, %222
  %224 = fadd float %212, %220
  %225 = fadd float %213, %218
  %226 = fadd float %214, %216
  %227 = getelementptr [4 x i8], ptr addrspace(1) %4, i64 %24
  %228 = getelementptr [4 x i8], ptr addrspace(1) %227, i64 %22
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %229 = bitcast float %223 to i32
  %230 = bitcast float %224 to i32
  %231 = bitcast float %225 to i32
  %232 = bitcast float %226 to i32
  tail call void @llvm.nvvm.stmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %46, i32 %229, i32 %230, i32 %231, i32 %232)
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %233 = tail call { i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.b16.p3(ptr addrspace(3) %41)
  %234 = extractvalue { i32, i32 } %233, 0
  %235 = extractvalue { i32, i32 } %233, 1
  tail call void asm sideeffect "@$3 st.global.v2.b32 [ $2 + 0 ], { $0, $1 };", "r,r,l,b"(i32 %234, i32 %235, ptr addrspace(1) %228, i1 %18) #1
  ret void
}

attributes #0 = { convergent nocallback nofree nounwind memory(none) }
attributes #1 = { nounwind }
attributes #2 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #3 = { convergent nocallback nounwind memory(argmem: write) }
attributes #4 = { convergent nocallback nounwind }
attributes #5 = { convergent nocallback nofree nounwind memory(argmem: read) }
attributes #6 = { nounwind "nvvm.reqntid"="64,1,1" }

!llvm.module.flags = !{!0, !1}
!nvvm.annotations = !{}

!0 = !{i32 2, !"Debug Info Version", i32 3}
!1 = !{i32 4, !"nvvm-reflect-ftz", i32 0}
