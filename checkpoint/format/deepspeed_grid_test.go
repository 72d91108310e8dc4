package format

import (
	"fmt"
	"testing"

	"github.com/gangrun/gangrun/checkpoint/file/filetest"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

// TestDeepSpeedGrid is for a state that does not say how many ranks there are.
func TestDeepSpeedGrid(t *testing.T) {
	const tag = "global_step300"
	save := deepSpeedSave{tag: tag, dp: 3, mp: 2, stage: 2, silent: true}
	d := newDisk(t)
	d.play(save.ops()...)
	c := one(t, see(t, d.fs(), Options{Level: Manifests}), tag)
	if !c.Complete || c.Basis != BasisGrid || c.WorldSize != 6 {
		t.Errorf("%+v", c)
	}
	mutate(t, Options{}, tag, save.ops(), []mutation{
		{"gap", []op{remove(tag + "/zero_pp_rank_1_mp_rank_00_optim_states.pt")}, problem.MissingShard},
		{"last", []op{remove(tag + "/zero_pp_rank_2_mp_rank_01_optim_states.pt")}, problem.MissingShard},
		{"model", []op{remove(tag + "/mp_rank_01_model_states.pt")}, problem.MissingShard},
		{"name from before 2021", []op{rename(tag+"/zero_pp_rank_1_mp_rank_00_optim_states.pt",
			tag+"/zero_pp_rank_1_mp_rank_00optim_states.pt")}, ""},
	})
}

func TestDeepSpeedNebula(t *testing.T) {
	nothing := filetest.NewPickle(2).Text("").Op("q\x00").Stop()
	dummy := filetest.Zip(filetest.Record{Name: "archive/data.pkl", Data: nothing})
	d := newDisk(t)
	d.play(write("global_step300/mp_rank_00_model_states.pt", dummy),
		write("global_step300/zero_pp_rank_0_mp_rank_00_optim_states.pt", dummy), writeText("latest", "global_step300"))
	c := one(t, see(t, d.fs(), Options{Level: Manifests}), "global_step300")
	if !c.Complete || !c.Resumable || c.Basis != BasisHeuristic {
		t.Errorf("%+v", c)
	}
}

func TestDeepSpeedNodeLocal(t *testing.T) {
	const tag = "global_step300"
	save := func(from, to, dp int, stage int) (ops []op) {
		state := deepSpeedSave{dp: dp, mp: 1, stage: stage, node: true}.state()
		for rank := from; rank < to; rank++ {
			if stage == 3 {
				ops = append(ops, write(fmt.Sprintf("%s/zero_pp_rank_%d_mp_rank_00_model_states.pt", tag, rank), state))
			} else if rank == from {
				ops = append(ops, write(tag+"/mp_rank_00_model_states.pt", state))
			}
			ops = append(ops, write(fmt.Sprintf("%s/zero_pp_rank_%d_mp_rank_00_optim_states.pt", tag, rank), filetest.Torch()))
		}
		return ops
	}
	for _, stage := range []int{2, 3} {
		t.Run(fmt.Sprintf("stage %d", stage), func(t *testing.T) {
			mutate(t, Options{}, tag, save(4, 8, 8, stage), []mutation{
				{"second node", nil, ""},
				{"gap", []op{remove(tag + "/zero_pp_rank_5_mp_rank_00_optim_states.pt")}, problem.MissingShard},
				{"as many as no equal nodes have", []op{remove(tag + "/zero_pp_rank_7_mp_rank_00_optim_states.pt")},
					problem.MissingShard},
			})
			mutate(t, Options{}, tag, save(0, 4, 8, stage), []mutation{{"first node", nil, ""}})
			if stage == 3 {
				mutate(t, Options{}, tag, save(4, 8, 8, stage), []mutation{{"fewer of the optimizer than of the model", []op{
					remove(tag + "/zero_pp_rank_6_mp_rank_00_optim_states.pt"),
					remove(tag + "/zero_pp_rank_7_mp_rank_00_optim_states.pt"),
				}, problem.MissingShard}})
			}
		})
	}
}

func TestDeepSpeedExperts(t *testing.T) {
	const tag = "global_step300"
	experts := func(more ...string) (ops []op) {
		for layer := range 2 {
			for expert := range 2 {
				ops = append(ops, write(fmt.Sprintf("%s/layer_%d_expert_%d_mp_rank_00_model_states.pt", tag, layer, expert),
					filetest.Torch([]byte("expert"))))
			}
		}
		for rank := range 2 {
			ops = append(ops, write(fmt.Sprintf("%s/expp_rank_%d_mp_rank_00_optim_states.pt", tag, rank), filetest.Torch()))
		}
		return append(ops, write(tag+"/mp_rank_00_model_states.pt", deepSpeedSave{dp: 2, mp: 1, more: more}.state()))
	}
	mutations := []mutation{
		{"first expert missing", []op{remove(tag + "/layer_0_expert_0_mp_rank_00_model_states.pt")}, problem.MissingShard},
		{"first layer missing", []op{
			remove(tag + "/layer_0_expert_0_mp_rank_00_model_states.pt"),
			remove(tag + "/layer_0_expert_1_mp_rank_00_model_states.pt"),
		}, problem.MissingShard},
		{"optimizer missing", []op{remove(tag + "/expp_rank_0_mp_rank_00_optim_states.pt")}, problem.MissingShard},
		{"truncated", []op{truncated(tag+"/layer_1_expert_1_mp_rank_00_model_states.pt", -5)}, problem.Truncated},
		{"whole", nil, ""},
	}
	mutate(t, Options{}, tag, experts(), mutations)
	// The number of experts of each layer is in the state of newer versions: no last one can be missing either.
	mutate(t, Options{}, tag, experts("num_experts", "]q\x07(K\x02K\x02e"), append(mutations,
		mutation{"last expert missing", []op{
			remove(tag + "/layer_1_expert_1_mp_rank_00_model_states.pt"),
		}, problem.MissingShard},
		mutation{"last layer missing", []op{
			remove(tag + "/layer_1_expert_0_mp_rank_00_model_states.pt"),
			remove(tag + "/layer_1_expert_1_mp_rank_00_model_states.pt"),
		}, problem.MissingShard}))
}

func TestDeepSpeedPipeline(t *testing.T) {
	const tag = "global_step300"
	saved := func(tag string) (save []op) {
		for _, layer := range []int{0, 1, 3} { // 2 has no weights
			for slice := range 2 {
				save = append(save, write(fmt.Sprintf("%s/layer_%02d-model_%02d-model_states.pt", tag, layer, slice),
					filetest.Torch([]byte("layer"))))
			}
		}
		return append(save, deepSpeedSave{tag: tag, dp: 2, mp: 2, stage: 1}.ops()...)
	}
	save := saved(tag)
	mutate(t, Options{}, tag, save, []mutation{
		{"whole", nil, ""},
		{"layer missing", append(saved("global_step200"), remove(tag+"/layer_01-model_00-model_states.pt"), remove(tag+"/layer_01-model_01-model_states.pt")), problem.MissingShard},
		{"slice missing", []op{remove(tag + "/layer_03-model_01-model_states.pt")}, problem.MissingShard},
		{"truncated", []op{truncated(tag+"/layer_03-model_01-model_states.pt", -5)}, problem.Truncated},
	})
}
