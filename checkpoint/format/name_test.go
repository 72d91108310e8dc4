package format

import "testing"

func TestTitle(t *testing.T) {
	for name, want := range map[string]title{
		"model_1000.pt":                {step: 1000, roles: "model"},
		"ckpt_200 - Copy.pt":           {step: 200},
		"ckpt_200 (1).pt":              {step: 200, when: "1"},
		"last.pt.bak":                  {step: -1, slot: "bak"},
		"ckpt_200.pth.tar.old":         {step: 200, slot: "old"},
		"model_epoch5.joblib":          {step: 5, named: true, unit: UnitEpoch, roles: "model"},
		"ckpt_100.tar":                 {step: 100},
		"ckpt_100.pth.tar":             {step: 100},
		"checkpoint-100":               {step: 100},
		"100":                          {step: 100},
		"step_100":                     {step: 100, named: true},
		"step-00000100":                {step: 100, named: true},
		"global_step100":               {step: 100, named: true},
		"iter_0000100.pth":             {step: 100, named: true},
		"epoch=3-step=400.ckpt":        {step: 400, named: true, major: "3"},
		"epoch_7.pt":                   {step: 7, named: true, unit: UnitEpoch},
		"ep7.pt":                       {step: 7, named: true, unit: UnitEpoch},
		"model-epoch2-s30.pt":          {step: 30, named: true, roles: "model", major: "2"},
		"epoch18_e31_f79_sNA.pth.tar":  {step: 18, named: true, unit: UnitEpoch, family: "f s na"},
		"s3dis-train_latest.pth":       {step: -1, slot: "latest", family: "dis train"},
		"e3nn_e10.pt":                  {step: 10, named: true, unit: UnitEpoch, family: "nn"},
		"epoch-12-acc_91.pt":           {step: 12, named: true, unit: UnitEpoch, family: "acc"},
		"ckpt_acc_91.pt":               {step: -1, family: "acc"},
		"step100_loss2.9.pt":           {step: 100, named: true, family: "loss"},
		"model_fp16_200.pt":            {step: 200, roles: "model", family: "fp 16"},
		"resnet50_300.pth":             {step: 300, family: "resnet 50"},
		"resnet50.pth":                 {step: -1, family: "resnet 50"},
		"state_100_rank1.pt":           {step: 100, rank: 1, roles: "rank #"},
		"model-00002-of-00004.bin":     {step: -1, rank: 2, of: 4, roles: "model # #"},
		"ckpt-2026-01-02_100.pt":       {step: 100, when: "20260102"},
		"run_20260102_030405.pt":       {step: -1, family: "run", when: "20260102030405"},
		"run_20_11_2026_10:15:44":      {step: -1, family: "run", when: "20112026101544"},
		"run_11-20-2026_7.pt":          {step: 7, family: "run", when: "11202026"},
		"ckpt_10_20_2000.pt":           {step: 2000, major: "20"},
		"run-20260102-030405-step9.pt": {step: 9, named: true, family: "run", when: "20260102030405"},
		"ckpt_1700000000.pt":           {step: -1},
		"ckpt_2026.pt":                 {step: 2026, yearlike: true},
		"ckpt_2000.pt":                 {step: 2000},
		"ckpt-900k.pt":                 {step: 900_000},
		"ckpt_1m.pt":                   {step: 1_000_000},
		"step_1.5m.pt":                 {step: 1_500_000, named: true},
		"10000_steps.pt":               {step: 10000, named: true},
		"10000steps.pt":                {step: 10000, named: true},
		"llama-7b.pt":                  {step: -1, family: "llama 7 b"},
		"model_v2.pt":                  {step: -1, roles: "model", family: "v 2"},
		"lr1e-4_step5.pt":              {step: 5, named: true, family: "lr"},
		"weights.10-0.25.h5":           {step: 10, roles: "model"},
		"rng_state_3.pth":              {step: -1, rank: 3, roles: "rng #"},
		"checkpoint.pt":                {step: -1},
		"checkpoint_prev.pt":           {step: -1, slot: "prev"},
		"model_best.pth":               {step: -1, slot: "best", roles: "model"},
		"G_100.pth":                    {step: 100, roles: "generator"},
		"checkpoint_dis.pth":           {step: -1, roles: "discriminator"},
		"distill_100.pth":              {step: 100, family: "distill"},
		"optimizer_state_100.pt":       {step: 100, roles: "optimizer"},
		"ckpt_tp1_pp0_100.pt":          {step: 100, roles: "tp 1 pp 0"},
		"m_10-part-0-shard1.pt":        {step: 10, rank: 1, roles: "part 0 rank #", family: "m"},
		"part_100.pt":                  {step: -1, family: "part 100"},
		"ckpt_mp_100.pt":               {step: -1, family: "mp 100"},
		"shard_100.pt":                 {step: -1, family: "shard 100"},
		"3f2a9c1e-8b7d.pt":             {step: -1, family: "f a 9 c b 7 d"},
		"netG_epoch_24.pth":            {step: 24, named: true, unit: UnitEpoch, roles: "model generator"},
		"optimizerD_epoch_24.pth":      {step: 24, named: true, unit: UnitEpoch, roles: "optimizer discriminator"},
		"fastG_24.pth":                 {step: 24, family: "fast g"},
		"model_epoch3of10.pt":          {step: 3, named: true, unit: UnitEpoch, roles: "model"},
		"epoch_1_step_3_of_9.pt":       {step: 1, named: true, unit: UnitEpoch, rank: 3, of: 9, roles: "# #", family: "step"},
		"model_iter_00001-of-2.pt":     {step: -1, rank: 1, of: 2, roles: "model # #", family: "iter"},
		"step_100_of_2000.pt":          {step: 100, named: true},
		"ckpt_3_of_10.pt":              {step: -1, rank: 3, of: 10, roles: "# #"},
		"w_tp_rank_world_size=1_2_pp_rank_world_size=0_3.pth": {step: -1, rank: 1, of: 2, roles: "rank # # rank 0 3", family: "w tp world size pp world size"},
		"model.bin.optim":     {step: -1, roles: "model optimizer"},
		"net_7.pt.opt":        {step: 7, roles: "model optimizer"},
		"chkpnt30000.pth":     {step: 30000},
		"bs32_seed1_iter5.pt": {step: 5, named: true, family: "bs 32 seed 1"},
	} {
		if want.rank == 0 {
			want.rank = -1
		}
		if got := titleOf(name); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

func FuzzTitle(f *testing.F) {
	f.Add("run-20260102-030405-step9_1.5m-00001-of-00002.pth.tar")
	f.Fuzz(func(t *testing.T, name string) {
		if got := titleOf(name); got.step < -1 {
			t.Errorf("%q: %+v", name, got)
		}
	})
}
