// What an app does with the client that openapi-generator makes for Go.
package main

import (
	"context"
	"log"
	"os"
	"strings"
	"time"

	feedkeep "feeds.example/feedkeep/client"
)

var feeds = []string{"https://feeds.example/one", "https://feeds.example/two", "feeds.example/no-protocol"}

func check(is bool, what string) {
	if !is {
		log.Fatal(what)
	}
}

func must[T any, R any](value T, _ R, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func main() {
	settings := feedkeep.NewConfiguration()
	settings.Servers = feedkeep.ServerConfigurations{{URL: os.Getenv("FEEDKEEP_URL")}}
	api := feedkeep.NewAPIClient(settings).SubscriptionsAPI
	ctx := context.WithValue(context.Background(), feedkeep.ContextAccessToken, os.Getenv("FEEDKEEP_TOKEN"))

	wanted := []feedkeep.FeedToAdd{}
	for _, url := range feeds {
		wanted = append(wanted, *feedkeep.NewFeedToAdd(url))
	}
	added := must(api.AddSubscriptions(ctx).AddRequest(*feedkeep.NewAddRequest(wanted)).Execute())
	check(len(added.Success) == 2 && added.Success[0].FeedUrl == feeds[0], "two are added")
	check(strings.HasPrefix(added.Failure[0].Message, "No protocol present"), "one is refused")
	one, two := added.Success[0].Guid, added.Success[1].Guid

	listed := must(api.ListSubscriptions(ctx).Execute())
	check(listed.Total == 2, "two are listed")
	since := time.Time{}
	for _, entry := range listed.Subscriptions {
		if entry.SubscriptionChanged.After(since) {
			since = *entry.SubscriptionChanged
		}
	}
	check(must(api.ListSubscriptions(ctx).Since(since).Execute()).Total == 0, "nothing is new")

	off := feedkeep.NewUpdateRequest()
	off.SetIsSubscribed(false)
	changed := must(api.UpdateSubscription(ctx, one).UpdateRequest(*off).Execute())
	check(changed.SubscriptionChanged.After(since), "the change is newer")
	entries := must(api.ListSubscriptions(ctx).Since(since).Execute()).Subscriptions
	check(len(entries) == 1 && entries[0].Guid == one && !entries[0].IsSubscribed, "one changed")

	deleted := must(api.DeleteSubscription(ctx, two).Execute())
	check(must(api.ReadDeletion(ctx, deleted.DeletionId).Execute()).Status == "SUCCESS", "it is deleted")
	entries = must(api.ListSubscriptions(ctx).Since(*changed.SubscriptionChanged).Execute()).Subscriptions
	check(len(entries) == 1 && entries[0].Deleted != nil, "one is deleted")
	_, reply, err := api.ReadSubscription(ctx, two).Execute()
	check(err != nil && reply.StatusCode == 410, "a deleted one is an error")
}
